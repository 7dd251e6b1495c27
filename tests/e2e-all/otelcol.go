// The OpenTelemetry Collector, with its own OTLP receiver, and an exporter that prints a line for each sample of each profile.
package main

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

type lines struct {
	component.StartFunc
	component.ShutdownFunc
}

func (lines) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (lines) ConsumeProfiles(_ context.Context, data pprofile.Profiles) error {
	words := data.Dictionary().StringTable()
	for _, resource := range data.ResourceProfiles().All() {
		service, _ := resource.Resource().Attributes().Get("service.name")
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				for _, sample := range profile.Samples().All() {
					stack := data.Dictionary().StackTable().At(int(sample.StackIndex()))
					location := data.Dictionary().LocationTable().At(int(stack.LocationIndices().At(0)))
					function := data.Dictionary().FunctionTable().At(int(location.Lines().At(0).FunctionIndex()))
					file := data.Dictionary().MappingTable().At(int(location.MappingIndex())).FilenameStrindex()
					fmt.Printf("%s %s %s %s %d at %d for %d\n", service.AsString(), words.At(int(profile.SampleType().TypeStrindex())),
						words.At(int(function.NameStrindex())), words.At(int(file)), sample.Values().At(0), profile.Time().AsTime().Unix(), profile.DurationNano()/1e9)
				}
			}
		}
	}
	return nil
}

func factories() (otelcol.Factories, error) {
	var out otelcol.Factories
	var err error
	if out.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return out, err
	}
	create := func(context.Context, exporter.Settings, component.Config) (xexporter.Profiles, error) { return lines{}, nil }
	out.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](xexporter.NewFactory(component.MustNewType("lines"),
		func() component.Config { return &struct{}{} }, xexporter.WithProfiles(create, component.StabilityLevelAlpha)))
	out.Telemetry = otelconftelemetry.NewFactory()
	return out, err
}

func main() {
	featuregate.GlobalRegistry().Set("service.profilesSupport", true)
	config := "yaml:{receivers: {otlp: {protocols: {http: {endpoint: '" + os.Args[1] + "'}}}}, exporters: {lines: {}}, " +
		"service: {telemetry: {metrics: {level: none}}, pipelines: {profiles: {receivers: [otlp], exporters: [lines]}}}}"
	collector, err := otelcol.NewCollector(otelcol.CollectorSettings{
		Factories: factories,
		BuildInfo: component.BuildInfo{Command: "otelcol", Version: "test"},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{config}, ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()}}},
	})
	if err == nil {
		err = collector.Run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
