package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// standInName is the name under which this program stands in for nats-server, for suites that run that themselves.
const standInName = "nats-server"

// binaryVariable names the brokerd that it becomes then.
const binaryVariable = "BROKERD_BINARY"

// standIn takes nats-server's arguments and becomes a brokerd with the settings that they mean. It returns only when it
// cannot.
func standIn(args []string) error {
	s, dir, err := standInSettings(args)
	if err != nil {
		return err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "brokerd-stand-in-"); err != nil {
			return err
		}
	}
	s.Data = filepath.Join(dir, "data")
	body, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	config := filepath.Join(dir, "brokerd.yaml")
	if err := os.WriteFile(config, body, 0o600); err != nil {
		return err
	}
	binary := os.Getenv(binaryVariable)
	if binary == "" {
		return fmt.Errorf("%s does not name a brokerd", binaryVariable)
	}
	return syscall.Exec(binary, []string{binary, "serve", "--config", config}, os.Environ())
}

// standInSettings are the settings that the arguments mean, and the directory for the data.
func standInSettings(args []string) (*settings, string, error) {
	f := flag.NewFlagSet(standInName, flag.ContinueOnError)
	var (
		port      = f.Int("p", 4222, "port")
		monitor   = f.Int("m", 0, "port for monitoring")
		_         = f.String("a", host, "address; it is always "+host)
		user      = f.String("user", "", "")
		password  = f.String("pass", "", "")
		token     = f.String("auth", "", "")
		_         = f.Bool("DV", false, "log everything")
		jetStream = f.Bool("js", false, "")
		dir       = f.String("sd", "", "directory of JetStream")
		config    = f.String("config", "", "")
		encrypt   = f.Bool("tls", false, "")
		cert      = f.String("tlscert", "", "")
		key       = f.String("tlskey", "", "")
		ca        = f.String("tlscacert", "", "")
		verify    = f.Bool("tlsverify", false, "")
	)
	f.StringVar(config, "c", "", "")
	if err := f.Parse(args); err != nil {
		return nil, "", err
	}
	s := &settings{Kafka: listen{net.JoinHostPort(host, "0")}, Log: logPart{Format: "json", Level: "info"}}
	if *config != "" {
		var err error
		if s, err = translate(*config, *port); err != nil {
			return nil, "", err
		}
	} else {
		s.NATS.Listen = net.JoinHostPort(host, strconv.Itoa(*port))
	}
	s.HTTP.Listen = net.JoinHostPort(host, strconv.Itoa(*monitor))
	s.NATS.Auth.Token = *token
	if *user != "" {
		s.NATS.Auth.Users = append(s.NATS.Auth.Users, login(*user, *password))
	}
	if *config == "" || *jetStream {
		s.NATS.JetStream = jetStream
	}
	if *encrypt {
		s.NATS.TLS = &tls{Cert: *cert, Key: *key, CA: *ca, Verify: *verify}
	}
	return s, *dir, nil
}

func login(name, password string) user { return user{User: name, Password: password} }
