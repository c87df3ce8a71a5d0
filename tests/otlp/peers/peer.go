// SPDX-License-Identifier: Apache-2.0

// The receiver of peer_core.py on grpc-go, which the Collector uses: the same arguments, modes and
// ports. Its answers to compressed requests are compressed (mode gzip or not).
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/ioutil"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang/protobuf/ptypes/any"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const method = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

var (
	throttled = status.FromProto(&spb.Status{Code: int32(codes.ResourceExhausted), Message: "slow down",
		Details: []*any.Any{{TypeUrl: "type.googleapis.com/google.rpc.RetryInfo",
			Value: []byte{0x0a, 5, 0x10, 0x80, 0x84, 0xaf, 0x5f}}}})
	partial = append([]byte{0x0a, 0x0c, 8, 2, 0x12, 8}, []byte("too old!")...)
	lock    sync.Mutex
	counts  = map[string]int{}
	mutable *grpc.Server
	address string
)

// Messages as bytes.
type raw struct{}

func (raw) Marshal(v interface{}) ([]byte, error)      { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v interface{}) error { *v.(*[]byte) = data; return nil }
func (raw) Name() string                               { return "proto" }

func save(name string, message []byte) int {
	lock.Lock()
	counts[name]++
	n := counts[name]
	lock.Unlock()
	os.MkdirAll(filepath.Join(os.Args[1], name), 0755)
	ioutil.WriteFile(filepath.Join(os.Args[1], name, strconv.Itoa(n)+".bin"), message, 0644)
	return n
}

func first(md metadata.MD, key string) string {
	if values := md.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

func export(_ interface{}, stream grpc.ServerStream) error {
	var message, answer []byte
	name, _ := grpc.MethodFromServerStream(stream)
	if name != method {
		return status.Error(codes.Unimplemented, "unknown service")
	}
	if err := stream.RecvMsg(&message); err != nil {
		return err
	}
	md, _ := metadata.FromIncomingContext(stream.Context())
	parts := strings.SplitN(first(md, "x-mode")+":", ":", 3)
	mode := parts[0]
	number, _ := strconv.Atoi(parts[1])
	n := save(first(md, "x-case"), message)
	switch {
	case mode == "unavailable" && n <= number:
		return status.Error(codes.Unavailable, "not now, 100 % busy")
	case mode == "throttle" && n <= number:
		return throttled.Err()
	case mode == "exhausted":
		return status.Error(codes.ResourceExhausted, "quota")
	case mode == "invalid":
		return status.Error(codes.InvalidArgument, "unsupported frame kind")
	case mode == "unauthenticated" || mode == "token" && first(md, "authorization") != parts[1]:
		return status.Error(codes.Unauthenticated, "who are you?")
	case mode == "partial":
		answer = partial
	case mode == "slow":
		time.Sleep(time.Duration(number) * time.Millisecond)
	case mode == "goaway" && n == 1:
		go restart()
		time.Sleep(300 * time.Millisecond)
	}
	return stream.SendMsg(&answer)
}

func newServer(options ...grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(options, grpc.UnknownServiceHandler(export))...)
}

func restart() {
	mutable.GracefulStop()
	mutable = newServer()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	mutable.Serve(listener)
}

func serve(name string, server *grpc.Server) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	fmt.Println(name, port)
	go server.Serve(listener)
	return listener.Addr().String()
}

func main() {
	encoding.RegisterCodec(raw{})
	certs := os.Args[2]
	pair, err := tls.LoadX509KeyPair(certs+"/server.pem", certs+"/server.key")
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	ca, _ := ioutil.ReadFile(certs + "/ca.pem")
	pool.AppendCertsFromPEM(ca)
	serve("plain", newServer())
	serve("big", newServer(grpc.MaxRecvMsgSize(64<<20)))
	mutable = newServer()
	address = serve("mutable", mutable)
	serve("tls", newServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}}))))
	serve("mtls", newServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}))))
	fmt.Println("ready")
	ioutil.ReadAll(os.Stdin)
}
