package nats

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// certified makes a certificate for 127.0.0.1 that vouches for itself.
func certified(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

func TestTLS(t *testing.T) {
	pair, pool := certified(t)
	trusting := nats.Secure(&tls.Config{RootCAs: pool})
	showing := nats.Secure(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}})
	for _, c := range []struct {
		name   string
		first  bool
		verify bool
		client []nats.Option
		ok     bool
	}{
		{"after INFO", false, false, []nats.Option{trusting}, true},
		{"before INFO", true, false, []nats.Option{trusting, nats.TLSHandshakeFirst()}, true},
		{"a certificate of the client", false, true, []nats.Option{showing}, true},
		{"none", false, true, []nats.Option{trusting}, false},
		{"no trust", false, false, nil, false},
		{"too early", false, false, []nats.Option{trusting, nats.TLSHandshakeFirst()}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool}
			if c.verify {
				config.ClientAuth = tls.RequireAndVerifyClientCert
			}
			h := serveHere(t, Options{TLS: TLS{Config: config, First: c.first}})
			nc, err := nats.Connect("nats://"+h.addr, c.client...)
			if !c.ok {
				if err == nil {
					nc.Close()
					t.Fatal("connected")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			sub, err := nc.SubscribeSync("a")
			if err != nil {
				t.Fatal(err)
			}
			if err := nc.Publish("a", []byte("1")); err != nil {
				t.Fatal(err)
			}
			if m, err := sub.NextMsg(5 * time.Second); err != nil || string(m.Data) != "1" {
				t.Errorf("%v, %v", m, err)
			}
		})
	}
}
