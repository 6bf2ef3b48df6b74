import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

/** Bodies of nearly 64 KiB, which get all hypotheses: a program that defines `body`. */
const BODIES: Record<string, string> = {
  events: `JSON.stringify({ events: new Array(1200).fill({ type: 'Fl\\u00fc/e', when: 1.5, extent: {} }) })`,
  numbers: 'JSON.stringify(Array.from({ length: 3200 }, (_, index) => index / 7))',
  'a form': `'payload=' + encodeURIComponent(JSON.stringify(new Array(2000).fill({ a: '\\u00fc' })))`,
  bytes: 'Uint8Array.from({ length: 65536 }, (_, index) => (index * index) >> 3)',
}

/** Prints the cause, and the most bytes that the heap and external memory grew by, measured after each collection. */
const program = (body: string): string => `
  import { explain } from 'geohook'
  const used = () => {
    gc()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const body = ${body}
  const request = { body, headers: { 'x-service': '0'.repeat(64), 'x-timestamp': '1730385704' } }
  const options = { signatureKey: 'Parcels2026' }
  await explain(request, options) // loads the code
  const before = used()
  let peak = 0
  let samples = 0
  let isDone = false
  const sample = () => {
    samples++
    peak = Math.max(peak, used() - before)
    if (!isDone) setImmediate(sample)
  }
  sample()
  const { cause } = await explain(request, options)
  isDone = true
  console.log(JSON.stringify({ cause, peak, samples, size: body.length }))`

it.each(Object.entries(BODIES))('explain needs at most 16 MB for a body of 64 KiB: %s', async (_, body) => {
  const flags = ['--expose-gc', '--input-type=module', '--eval']
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program(body)])
  const { cause, peak, samples, size } = JSON.parse(stdout)
  expect(cause).toBe('unexplained')
  expect(size).toBeGreaterThan(45_000)
  expect(size).toBeLessThanOrEqual(65_536)
  expect(samples).toBeGreaterThan(3)
  expect(peak).toBeLessThan(16e6)
})
