// One name looked up by Go's own resolver (built without cgo), for pathproof-lookups, which gives this
// process its files:
//
//	pathproof-lookup-go INDEX FAMILY NAME
//
// and writes the line that lookups.c tells of. Go has no EAI_ codes: OUTCOME is what its error says of
// itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

func outcome(err error) string {
	var failed *net.DNSError
	switch {
	case err == nil:
		return "ok"
	case !errors.As(err, &failed):
		return "no-lookup"
	case failed.IsNotFound:
		return "no-such-host"
	case failed.IsTimeout:
		return "timeout"
	default:
		return "server-misbehaving"
	}
}

func main() {
	if len(os.Args) != 4 {
		os.Exit(2)
	}
	network := map[string]string{"0": "ip", "4": "ip4", "6": "ip6"}[os.Args[2]]
	began := time.Now()
	found, err := net.DefaultResolver.LookupIP(context.Background(), network, os.Args[3])
	line := fmt.Sprintf("%s %s %d", os.Args[1], outcome(err), time.Since(began).Microseconds())
	for _, address := range found {
		line += " " + address.String()
	}
	os.Stdout.WriteString(line + "\n")
}
