// Pyroscope's PusherService, as its own API has it, and Google's parser; prints a line for each sample of each profile.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
)

type pusher struct{}

func (pusher) Push(_ context.Context, request *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	for _, series := range request.Msg.Series {
		labels := map[string]string{}
		for _, label := range series.Labels {
			labels[label.Name] = label.Value
		}
		for _, sample := range series.Samples {
			parsed, err := profile.ParseData(sample.RawProfile)
			if err == nil {
				err = parsed.CheckValid()
			}
			if err != nil {
				fmt.Println("wrong", err)
				return nil, connect.NewError(connect.CodeInvalidArgument, err)
			}
			for _, s := range parsed.Sample {
				for i, t := range parsed.SampleType {
					fmt.Printf("%s %s %s %s %d at %d for %d\n", labels["service_name"], labels["__name__"], t.Type, s.Location[0].Line[0].Function.Name,
						s.Value[i], parsed.TimeNanos/1e9, parsed.DurationNanos/1e9)
				}
			}
		}
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

func main() {
	mux := http.NewServeMux()
	mux.Handle(pushv1connect.NewPusherServiceHandler(pusher{}))
	fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], mux))
}
