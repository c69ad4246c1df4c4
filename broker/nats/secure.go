package nats

import (
	"context"
	"crypto/tls"
	"time"

	"brokerd/broker/nats/wire"
)

// TLS encrypts the connections of clients.
type TLS struct {
	Config  *tls.Config   // nil for none
	First   bool          // before INFO, instead of after it, as clients expect that do not ask for it
	Timeout time.Duration // for the handshake; 2 s
}

// secure makes the connection an encrypted one, if it has to be. Where INFO goes first, it has been sent then. It is called
// before anything else is done with the connection.
func (c *conn) secure(ctx context.Context) error {
	t := c.s.o.TLS
	if t.Config == nil {
		return nil
	}
	if err := c.nc.SetDeadline(time.Now().Add(t.Timeout)); err != nil {
		return err
	}
	if !t.First {
		if _, err := c.nc.Write(wire.AppendInfo(nil, c.info(false))); err != nil {
			return err
		}
		c.introduced = true
	}
	secured := tls.Server(c.nc, t.Config)
	if err := secured.HandshakeContext(ctx); err != nil {
		c.log.Info().Err(err).Msg("closed a connection: its TLS handshake failed")
		return err
	}
	c.nc = secured
	return c.nc.SetDeadline(time.Time{})
}
