import { context, type TracerProvider } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

/** A data point of a metric. Its value is a number, or the count and sum of a histogram. */
export interface Point {
  name: string
  unit: string
  attributes: Record<string, unknown>
  value: number | { count: number; sum: number }
}

export interface Telemetry {
  providers: { tracerProvider: TracerProvider; meterProvider: MeterProvider }
  spans(): ReadableSpan[]
  points(): Promise<Point[]>
  /** Collects the metrics without exporting them. */
  collect(): Promise<unknown>
}

/** Sets up the real OpenTelemetry SDK for one test, with in-memory exporters. */
export function createTelemetry(temporality = AggregationTemporality.CUMULATIVE): Telemetry {
  const spanExporter = new InMemorySpanExporter()
  const metricExporter = new InMemoryMetricExporter(temporality)
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter,
    exportIntervalMillis: 2 ** 31 - 1,
  })
  onTestFinished(() => reader.shutdown())
  return {
    providers: {
      tracerProvider: new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spanExporter)] }),
      meterProvider: new MeterProvider({ readers: [reader] }),
    },
    spans: () => spanExporter.getFinishedSpans(),
    collect: () => reader.collect(),
    async points() {
      metricExporter.reset()
      await reader.forceFlush()
      return metricExporter
        .getMetrics()
        .flatMap(({ scopeMetrics }) =>
          scopeMetrics.flatMap(({ metrics }) =>
            metrics.flatMap(({ descriptor: { name, unit }, dataPoints }) =>
              dataPoints.map(({ attributes, value }) => ({ name, unit, attributes, value }) as Point),
            ),
          ),
        )
    },
  }
}

/** Enables active spans in the tests of one file. */
export function withContext(): void {
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  })
  afterAll(() => context.disable())
}
