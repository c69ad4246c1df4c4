package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

const demoHelp = `Start a broker and show, in a screen of output, what it does: real events
(what /proc says of this machine) go in through the Kafka and the NATS door
into one log, a fast and a slow group read them, the slow one acknowledges,
the broker is killed and started again, and a range is replayed.

The broker listens where "brokerd serve" does, on 9092, 4222 and 8222 of
127.0.0.1, with its data in ./data. If one of the ports is taken, or ./data is
there already, it takes free ports or a temporary directory, and says so.

It goes on running, for you to try, until Ctrl-C. A temporary directory is
removed then.`

func newDemo() *cobra.Command {
	o := demoPlace{}
	c := &cobra.Command{
		Use:     "demo",
		Short:   "Start a broker and show what it does",
		Long:    demoHelp,
		Example: "  brokerd demo",
		Args:    cobra.NoArgs,
	}
	c.Flags().StringVar(&o.data, "data", "", "data `directory` (default ./data, or a temporary one)")
	c.Flags().StringVar(&o.kafka, "kafka", "", "Kafka listen `address` (default 127.0.0.1:9092, or a free port)")
	c.Flags().StringVar(&o.nats, "nats", "", "NATS listen `address` (default 127.0.0.1:4222, or a free port)")
	c.Flags().StringVar(&o.http, "http", "", "admin HTTP listen `address` (default 127.0.0.1:8222, or a free port)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		err := runDemo(c.Context(), c.OutOrStdout(), o)
		if errors.Is(err, context.Canceled) && c.Context().Err() != nil {
			return nil // Ctrl-C
		}
		return err
	}
	return c
}

// runDemo tells the story from the start to the lines to try next, and waits for the end of ctx.
func runDemo(ctx context.Context, out io.Writer, place demoPlace) error {
	remarks, err := place.settle()
	if err != nil {
		return err
	}
	defer place.clear()
	b, err := startDemoBroker(ctx, place)
	if err != nil {
		return err
	}
	defer func() { b.stop() }()
	d := &demo{out: out, broker: b}
	d.say("brokerd demo: one log, with a Kafka door at %s and a NATS door at %s", b.kafka, b.nats)
	for _, r := range remarks {
		d.say("(%s)", r)
	}
	if err := d.tell(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.sayNext()
	select {
	case <-ctx.Done():
		d.say("\nstopping the broker")
		return b.stop()
	case <-b.ended:
		return fmt.Errorf("demo: the broker ended by itself: %v\n%s", b.err, b.log.String())
	}
}

// sayNext prints the lines to try next.
func (d *demo) sayNext() {
	self := "brokerd"
	if _, err := os.Stat(os.Args[0]); err == nil {
		self = os.Args[0]
	}
	at := ""
	if d.broker.kafka != defaultServer {
		at = " --server " + d.broker.kafka
	}
	d.say("\nThe broker (process %d) runs until you press Ctrl-C. Try next, in another terminal:\n", d.broker.pid())
	d.say(`  kcat -C -b %s -t %s -o -3 -e -f '%%o %%k = %%s\n'`, d.broker.kafka, demoTopic)
	d.say(`  printf 'note=hello' | kcat -P -b %s -t %s -K =`, d.broker.kafka, demoTopic)
	d.say(`  nats -s %s stream get %s --last-for %s.note`, d.broker.nats, demoTopic, demoTopic)
	d.say(`  nats -s %s sub '%s.>' --last`, d.broker.nats, demoTopic)
	d.say(`  %s group describe %s%s`, self, demoSlow, at)
	d.say(`  %s consume %s --from -1m --key%s`, self, demoTopic, at)
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }
