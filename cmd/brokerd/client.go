package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	defaultServer = "127.0.0.1:9092"
	serverEnv     = "BROKERD_SERVER"

	dialTimeout     = 5 * time.Second
	reachTimeout    = 10 * time.Second // for the first answer of the broker
	adminTimeout    = 30 * time.Second // for one administrative command
	completeTimeout = 2 * time.Second  // for the names that a shell asks for
)

// remote is what every command that talks to a broker takes: where it is, and how to print the answer.
type remote struct {
	server string
	json   bool
}

func (r *remote) addFlags(fs *pflag.FlagSet) {
	server := cmp.Or(os.Getenv(serverEnv), defaultServer)
	fs.StringVar(&r.server, "server", server, "Kafka `address` of the broker, HOST:PORT; the environment's "+serverEnv+" changes the default")
	fs.BoolVar(&r.json, "json", false, "print JSON, one object per line")
}

// open connects to the broker and makes sure that it answers.
func (r *remote) open(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(strings.Split(r.server, ",")...),
		kgo.ClientID("brokerd"),
		kgo.DialTimeout(dialTimeout),
		kgo.MetadataMinAge(100 * time.Millisecond), // a short command cannot wait seconds for a topic just created
		kgo.DisableClientMetrics(),
	}, opts...)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, misuse("--server %s: %w", r.server, err)
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := cl.Ping(ctx); err != nil {
		cl.Close()
		return nil, reachError(r.server, err)
	}
	return cl, nil
}

// admin runs f with an administrative client and a deadline.
func (r *remote) admin(ctx context.Context, f func(context.Context, *kadm.Client) error) error {
	cl, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	err = f(ctx, kadm.NewClient(cl))
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s did not answer within %v: %w", r.server, adminTimeout, err)
	}
	return err
}

// reachError says why there is no broker at server, and what to do.
func reachError(server string, err error) error {
	const fix = "start the broker with `brokerd serve` or name it with --server"
	var errno syscall.Errno
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer within %v; %s", server, reachTimeout, fix)
	case errors.As(err, &errno):
		return fmt.Errorf("cannot reach %s: %w; %s", server, errno, fix)
	case errors.As(err, &dns):
		return fmt.Errorf("cannot reach %s: %s; %s", server, dns.Err, fix)
	case errors.As(err, &op):
		return fmt.Errorf("cannot reach %s: %w; %s", server, op.Err, fix)
	}
	return fmt.Errorf("%s does not answer as a Kafka listener does: %w; is it the broker's Kafka address?", server, err)
}

// refusal is an error of the broker in its own words (detail), or in those of the protocol when it gave none. The
// protocol's error stays inside, for errors.Is.
type refusal struct {
	code   *kerr.Error
	detail string
}

func (r refusal) Error() string {
	return fmt.Sprintf("%s (%s)", strings.TrimSuffix(cmp.Or(r.detail, r.code.Description), "."), r.code.Message)
}

func (r refusal) Unwrap() error { return r.code }

// refused makes errors of the protocol readable and leaves others as they are.
func refused(err error, detail string) error {
	var code *kerr.Error
	if errors.As(err, &code) {
		return refusal{code, detail}
	}
	return err
}

// noTopic says that a topic does not exist, and how to make it.
func noTopic(name string) error {
	return fmt.Errorf("there is no topic %q; see `brokerd topic list`, or make it with `brokerd topic create %s`", name, name)
}

// noGroup says that a group does not exist.
func noGroup(name string) error {
	return fmt.Errorf("there is no group %q; see `brokerd group list`", name)
}

// namesFunc asks the broker for names that a shell may complete.
type namesFunc func(context.Context, *kadm.Client) ([]string, error)

// complete offers the names that start with what was typed and were not given yet. It is quiet when there is no broker.
func (r *remote) complete(names namesFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completeTimeout)
		defer cancel()
		var offer []string
		_ = r.admin(ctx, func(ctx context.Context, adm *kadm.Client) error {
			all, err := names(ctx, adm)
			for _, n := range all {
				if strings.HasPrefix(n, typed) && !slices.Contains(given, n) {
					offer = append(offer, n)
				}
			}
			return err
		})
		return offer, cobra.ShellCompDirectiveNoFileComp
	}
}

func topicNames(ctx context.Context, adm *kadm.Client) ([]string, error) {
	topics, err := adm.ListTopics(ctx)
	return topics.Names(), err
}

func groupNames(ctx context.Context, adm *kadm.Client) ([]string, error) {
	groups, err := adm.ListGroups(ctx)
	return groups.Groups(), err
}

// oneOf completes a flag from a fixed list.
func oneOf(values ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOne is complete for commands that take one name.
func (r *remote) completeOne(names namesFunc) cobra.CompletionFunc {
	all := r.complete(names)
	return func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return all(cmd, given, typed)
	}
}
