import { createReceiver, WebhookError } from 'geohook'
import { expect, it, onTestFinished, vi } from 'vitest'
import { deliver, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { warningsOf } from '../helpers/warnings.ts'

/** Returns the log lines of a delivery whose handlers throw these values. */
const linesOf = (...thrown: unknown[]) =>
  warningsOf(() => {
    const receiver = createReceiver({ signatureKey: KEY })
    for (const value of thrown) receiver.on('*', () => Promise.reject(value))
    return deliver(receiver, payloadOf('A'))
  })

it.each<[string, unknown[], string]>([
  ['the dots of a message', [new Error('a.b is gone.')], 'Error: a.b is gone.'],
  ['one dot at the end', [new Error('gone')], 'Error: gone.'],
  ['the first three errors', ['a', 'b', 'c', 'd'], 'a: b: c.'],
  ['a question mark for values that cannot be printed', [Object.create(null)], '?.'],
  ['undefined for a rejection without a reason', [undefined], 'undefined.'],
])('a line has %s', async (_, thrown, text) => {
  expect(await linesOf(...thrown)).toEqual([expect.stringContaining(`: Handler failed: ${text} `)])
})

it('a refusal names a command that explains it, once', async () => {
  const receiver = createReceiver({ signatureKey: KEY })
  const parsed = new Request('http://a.example/hook', {
    method: 'POST',
    body: '{}',
    headers: { 'x-service': signatureOf('{}') },
  })
  await parsed.text()
  const lines = await warningsOf(async () => {
    await deliver(receiver, '{}', { 'x-service': '' })
    await receiver.fetch(parsed)
  })
  expect(lines).toEqual([
    `signature_missing: /hook: Signature missing. ${new WebhookError('signature_missing').hint}`,
    expect.stringMatching(
      /Mount geohook before .*\. Run "npx geohook explain --code body_already_parsed"\.$/,
    ),
  ])
})

it('a line quotes at most 500 characters of an error', async () => {
  const [line] = await linesOf('x'.repeat(10_000))
  expect(line).toContain(`handler_failed: /hook: ${'Handler failed: '.padEnd(500, 'x')}. `)
})

it('a line is a process warning named GeohookWarning', async () => {
  const names: string[] = []
  const listen = ({ name }: Error) => names.push(name)
  process.on('warning', listen)
  await linesOf('x')
  process.off('warning', listen)
  expect(names).toEqual(['GeohookWarning'])
})

it('writes to the console if the process cannot emit warnings', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const request = new Request('http://a.example', { method: 'POST', body: '{}' })
  const { fetch } = createReceiver({ signatureKey: KEY })
  onTestFinished(() => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })
  // Hides only `emitWarning`, because other code still needs the rest of `process`.
  const get = (host: NodeJS.Process, name: string) =>
    name === 'emitWarning' ? undefined : Reflect.get(host, name)
  vi.stubGlobal('process', new Proxy(process, { get: get as never }))
  expect((await fetch(request)).status).toBe(401)
  expect(warn.mock.calls).toEqual([
    [
      `GeohookWarning [signature_missing]: /: Signature missing. ${new WebhookError('signature_missing').hint}`,
    ],
  ])
})

it('a log that throws fails no delivery and no handler of its other events', async () => {
  const handler = vi.fn()
  const receiver = createReceiver({ signatureKey: KEY }).on('A', handler)
  const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {
    throw new Error('warnings are fatal')
  })
  onTestFinished(() => emitWarning.mockRestore())
  expect((await deliver(receiver, payloadOf('Other', 'A'))).status).toBe(200)
  expect(emitWarning).toHaveBeenCalledOnce()
  expect(handler).toHaveBeenCalledOnce()
})
