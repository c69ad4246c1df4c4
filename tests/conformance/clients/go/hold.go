package main

import (
	"fmt"
	"io"
	"net"
	"time"
)

// hold keeps a port open in front of a broker that is killed and started again, as a service manager keeps a socket that
// it owns: connections wait until the broker is back, and those that were open end with it. It prints the port's
// address, and serves until it is killed.
//
// Without it a client is refused while the broker is away. kgo ends its group session then, whatever its retries.
func hold(target string) {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Println(listener.Addr())
	for {
		go relay(must(listener.Accept()), target)
	}
}

func relay(client net.Conn, target string) {
	defer client.Close()
	for range 3000 {
		broker, err := net.Dial("tcp", target)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		defer broker.Close()
		ended := make(chan struct{}, 2)
		join := func(to, from net.Conn) {
			io.Copy(to, from) // ends with either connection
			ended <- struct{}{}
		}
		go join(broker, client)
		go join(client, broker)
		<-ended
		return
	}
}
