// grafana.go URL proto|json SELECTOR START END: asks Pyroscope's query interface as Grafana's data source does, with the client that both are
// built with, and prints what it understood of the answers as JSON. Times are milliseconds.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"sort"
	"strconv"

	"connectrpc.com/connect"
	querier "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	types "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

const memory = "memory:inuse_space:bytes:space:bytes"

func must[T any](response *connect.Response[T], err error) *T {
	if err != nil {
		panic(err)
	}
	return response.Msg
}

// boxes adds up what each function holds itself: offset, total, self and name of each box, row by row.
func boxes(flame *querier.FlameGraph) (map[string]int64, int64) {
	own := map[string]int64{}
	for _, level := range flame.Levels {
		for i := 0; i+3 < len(level.Values); i += 4 {
			own[flame.Names[level.Values[i+3]]] += level.Values[i+2]
		}
	}
	return own, flame.Total
}

func main() {
	url, selector := os.Args[1], os.Args[3]
	start, _ := strconv.ParseInt(os.Args[4], 10, 64)
	end, _ := strconv.ParseInt(os.Args[5], 10, 64)
	options := []connect.ClientOption{}
	if os.Args[2] == "json" {
		options = append(options, connect.WithProtoJSON())
	}
	client, ctx := querierv1connect.NewQuerierServiceClient(http.DefaultClient, url, options...), context.Background()
	out := map[string]any{}

	ids := []string{}
	for _, one := range must(client.ProfileTypes(ctx, connect.NewRequest(&querier.ProfileTypesRequest{Start: start, End: end}))).ProfileTypes {
		ids = append(ids, one.ID)
	}
	out["types"] = ids
	out["names"] = must(client.LabelNames(ctx, connect.NewRequest(&types.LabelNamesRequest{Matchers: []string{selector}, Start: start, End: end}))).Names
	out["hosts"] = must(client.LabelValues(ctx, connect.NewRequest(&types.LabelValuesRequest{Name: "host", Matchers: []string{selector}, Start: start, End: end}))).Names

	last := map[string]float64{}
	count := 0
	limit := int64(10)
	for _, series := range must(client.SelectSeries(ctx, connect.NewRequest(&querier.SelectSeriesRequest{ProfileTypeID: memory, LabelSelector: selector, Start: start,
		End: end, Step: 600, GroupBy: []string{"version"}, Limit: &limit}))).Series {
		last[series.Labels[0].Name+"="+series.Labels[0].Value] = series.Points[len(series.Points)-1].Value
		count += len(series.Points)
		if !sort.SliceIsSorted(series.Points, func(a, b int) bool { return series.Points[a].Timestamp < series.Points[b].Timestamp }) {
			panic("points are not in order")
		}
	}
	out["last"], out["points"] = last, count

	nodes := int64(8192)
	flame := must(client.SelectMergeStacktraces(ctx, connect.NewRequest(&querier.SelectMergeStacktracesRequest{ProfileTypeID: memory, LabelSelector: selector, Start: start,
		End: end, MaxNodes: &nodes}))).Flamegraph
	out["own"], out["total"] = boxes(flame)

	diff := must(client.Diff(ctx, connect.NewRequest(&querier.DiffRequest{
		Left:  &querier.SelectMergeStacktracesRequest{ProfileTypeID: memory, LabelSelector: `{version="1"}`, Start: start, End: end},
		Right: &querier.SelectMergeStacktracesRequest{ProfileTypeID: memory, LabelSelector: `{version="2"}`, Start: start, End: end}}))).Flamegraph
	out["left"], out["right"] = diff.LeftTicks, diff.RightTicks

	_, err := client.SelectMergeStacktraces(ctx, connect.NewRequest(&querier.SelectMergeStacktracesRequest{ProfileTypeID: "cpu", LabelSelector: selector, Start: start, End: end}))
	out["error"] = connect.CodeOf(err).String()
	_, err = client.SelectMergeProfile(ctx, connect.NewRequest(&querier.SelectMergeProfileRequest{ProfileTypeID: memory, LabelSelector: selector, Start: start, End: end}))
	out["missing"] = connect.CodeOf(err).String()
	text, _ := json.Marshal(out)
	os.Stdout.Write(append(text, '\n'))
}
