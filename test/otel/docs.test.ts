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
