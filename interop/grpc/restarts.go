// A producer, a push consumer and a simple consumer of the official Go client that go on while somebody else stops and
// kills the server: restarts ENDPOINT TOPIC STOP_FILE.
//
// Whatever was sent successfully has to reach both consumers. The producer stops when the file is there; then the
// consumers have `last` to get the rest.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

const (
	last      = 120 * time.Second
	await     = 5 * time.Second
	invisible = 15 * time.Second
	pause     = 200 * time.Millisecond
)

type bodies struct {
	mutex sync.Mutex
	set   map[string]bool
}

func (b *bodies) add(body []byte) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.set[string(body)] = true
}

func (b *bodies) lacking(sent []string) int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	lacking := 0
	for _, body := range sent {
		if !b.set[body] {
			lacking++
		}
	}
	return lacking
}

func config(endpoint, group string) *rmq.Config {
	return &rmq.Config{Endpoint: endpoint, ConsumerGroup: group, Credentials: &credentials.SessionCredentials{}}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	endpoint, topic, stop := os.Args[1], os.Args[2], os.Args[3]
	all := map[string]*rmq.FilterExpression{topic: rmq.SUB_ALL}
	pushed, received := &bodies{set: map[string]bool{}}, &bodies{set: map[string]bool{}}

	listener := &rmq.FuncMessageListener{Consume: func(message *rmq.MessageView) rmq.ConsumerResult {
		pushed.add(message.GetBody())
		return rmq.SUCCESS
	}}
	push, err := rmq.NewPushConsumer(config(endpoint, "restarts_go_push"), rmq.WithPushAwaitDuration(await),
		rmq.WithPushSubscriptionExpressions(all), rmq.WithPushMessageListener(listener),
		rmq.WithPushConsumptionThreadCount(4), rmq.WithPushMaxCacheMessageCount(1024))
	must(err)
	must(push.Start())
	simple, err := rmq.NewSimpleConsumer(config(endpoint, "restarts_go_simple"), rmq.WithSimpleAwaitDuration(await),
		rmq.WithSimpleSubscriptionExpressions(all))
	must(err)
	must(simple.Start())
	go receive(simple, received)
	producer, err := rmq.NewProducer(config(endpoint, ""), rmq.WithTopics(topic))
	must(err)
	must(producer.Start())

	sent, refused := send(producer, topic, stop)
	end := time.Now().Add(last)
	for pushed.lacking(sent)+received.lacking(sent) > 0 && time.Now().Before(end) {
		time.Sleep(pause)
	}
	lackingPushed, lackingReceived := pushed.lacking(sent), received.lacking(sent)
	fmt.Printf("%d sent, %d refused; the push consumer of Go lacks %d, the simple consumer %d\n",
		len(sent), refused, lackingPushed, lackingReceived)
	if len(sent) == 0 || lackingPushed+lackingReceived > 0 {
		os.Exit(1)
	}
}

// What was sent for certain, and how many may have been.
func send(producer rmq.Producer, topic, stop string) (sent []string, refused int) {
	for number := 0; ; number++ {
		if _, err := os.Stat(stop); err == nil {
			return sent, refused
		}
		body := fmt.Sprintf("message %d", number)
		if _, err := producer.Send(context.Background(), &rmq.Message{Topic: topic, Body: []byte(body)}); err != nil {
			// Whether it was stored is unknown, so that nobody has to get it.
			refused++
		} else {
			sent = append(sent, body)
			if len(sent) == 1 {
				fmt.Println("sending")
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func receive(simple rmq.SimpleConsumer, received *bodies) {
	for {
		// To the client nothing new is an error, too.
		messages, err := simple.Receive(context.Background(), 32, invisible)
		if err != nil {
			time.Sleep(pause)
			continue
		}
		for _, message := range messages {
			received.add(message.GetBody())
			// What couldn't be acknowledged comes again.
			_ = simple.Ack(context.Background(), message)
		}
	}
}
