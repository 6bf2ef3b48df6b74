import { readFileSync } from 'node:fs'
import type { Observer } from 'geohook'
import type { OtelOptions } from 'geohook/otel'
import { expect, it } from 'vitest'
import {
  CHANGES_ATTRIBUTES,
  EXCEPTION_ATTRIBUTES,
  METRIC_ATTRIBUTES,
  METRICS,
  SPAN_ATTRIBUTES,
} from '../../src/otel/spans.ts'

const text = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8')

/** Returns the rows of the table whose header begins with this cell. */
function rows(head: string): string[][] {
  const [, table = ''] = text.split(`\n| ${head} |`)
  const [lines = ''] = table.split('\n\n')
  return lines
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

const quoted = (names: readonly string[]): string[] => names.map((name) => `\`${name}\``)
const firstCells = (head: string): (string | undefined)[] => rows(head).map(([cell]) => cell)

it('docs/observability.md lists every observer function', () => {
  const functions: Record<keyof Observer, true> = {
    around: true,
    accepted: true,
    handled: true,
    unhandled: true,
    duplicate: true,
    handshake: true,
    refused: true,
    failed: true,
  }
  expect(firstCells('function')).toEqual(quoted(Object.keys(functions)))
})

it('docs/observability.md lists every option', () => {
  const options: Record<keyof OtelOptions, true> = {
    destination: true,
    tracerProvider: true,
    meterProvider: true,
    observer: true,
  }
  expect(firstCells('option')).toEqual(quoted(Object.keys(options)))
})

it('docs/observability.md lists every attribute', () => {
  expect(firstCells('attribute of a span')).toEqual(quoted(SPAN_ATTRIBUTES))
  expect(firstCells('attribute of an exception')).toEqual(quoted(EXCEPTION_ATTRIBUTES))
  expect(firstCells('attribute of a step')).toEqual(quoted(CHANGES_ATTRIBUTES))
  expect(firstCells('attribute of a metric')).toEqual(quoted(METRIC_ATTRIBUTES))
})

it('docs/observability.md lists every metric with its unit', () => {
  expect(rows('metric').map(([name, , unit]) => [name, unit])).toEqual(
    Object.entries(METRICS).map((pair) => quoted(pair)),
  )
})

it('docs/observability.md queries only metrics, attributes and values that exist', () => {
  const queries = [...text.matchAll(/```promql\n(.+)\n```/g)].map(([, query = '']) => query)
  expect(queries.length).toBe(11)
  const names = rows('metric').flatMap(([name = '', kind = '', unit = '']) =>
    namesInPrometheus(name, kind, unit),
  )
  const labels = ['le', ...METRIC_ATTRIBUTES.map((name) => name.replaceAll('.', '_'))]
  const values =
    text.match(/^\| `geohook\.(outcome|inbox\.state)` \| .*|^- `outcome` has `kind`.*/gm)?.join() ?? ''
  for (const query of queries) {
    const words = query.match(/\b(geohook|messaging|http|error)_\w+/g) ?? []
    expect(words.filter((word) => !names.includes(word) && !labels.includes(word))).toEqual([])
    expect(words.some((word) => names.includes(word))).toBe(true)
    for (const [, value = ''] of query.matchAll(/"(.+?)"/g))
      for (const one of value.split('|')) expect(values).toContain(`\`${one}\``)
  }
})

/** The names that the OpenTelemetry Collector derives for Prometheus. */
function namesInPrometheus(name: string, kind: string, unit: string): string[] {
  const suffix = { '`s`': '_seconds', '`By`': '_bytes' }[unit] ?? ''
  const base = name.replaceAll('`', '').replaceAll('.', '_') + suffix
  if (kind === 'histogram') return ['_bucket', '_sum', '_count'].map((end) => base + end)
  return [kind === 'counter' ? `${base}_total` : base]
}
