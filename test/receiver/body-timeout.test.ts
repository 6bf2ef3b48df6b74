import { createReceiver } from 'geohook'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { receiverPort } from '../helpers/receiver-port.ts'

const BODY = Buffer.from('{"events":[]}')

/**
 * Uploads a body to a receiver with a bodyTimeout of 1 s. The event loop was blocked for `paused` ms while the timer was
 * due, and the body arrives `after` ms after the start of the upload, by the clock without the pause.
 */
async function upload({ paused, after }: { paused: number; after: number }): Promise<number> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const start = performance.now()
  let late = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => start + late)
  onTestFinished(() => {
    clock.mockRestore()
    vi.useRealTimers()
  })
  const receiver = createReceiver({
    signatureKey: KEY,
    bodyTimeout: 1000,
    observer: { refused() {}, unhandled() {} },
  })
  let begun: (() => void) | undefined
  const reading = new Promise<void>((resolve) => {
    begun = resolve
  })
  const outcome = receiverPort(receiver).receive({
    method: 'POST',
    url: '/hook',
    headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf(BODY.toString()) },
    async read({ onChunk }) {
      begun?.()
      await new Promise((resolve) => setTimeout(resolve, after))
      onChunk(BODY)
      return BODY
    },
  })
  await reading
  await vi.advanceTimersByTimeAsync(500)
  late = 1000 + paused
  await vi.advanceTimersByTimeAsync(2500)
  return (await outcome).status
}

describe('bodyTimeout', () => {
  it.each([
    ['ends an upload on time', { paused: 0, after: 1001 }, 408],
    ['ends an upload although its timer was a little late', { paused: 99, after: 1050 }, 408],
    ['gives an upload the time of a pause', { paused: 100, after: 1099 }, 200],
    ['gives an upload no more than the time of a pause', { paused: 300, after: 1301 }, 408],
    ['gives an upload at most its own time again', { paused: 60_000, after: 1999 }, 200],
    ['ends an upload after that time', { paused: 60_000, after: 2001 }, 408],
  ])('%s', async (_, times, status) => {
    expect(await upload(times)).toBe(status)
  })
})

it('ends an upload after a second pause, so that a busy process does not keep slow uploads', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 10_000
    return now
  })
  onTestFinished(() => clock.mockRestore())
  const receiver = createReceiver({ signatureKey: KEY, bodyTimeout: 120, observer: { refused() {} } })
  const { status } = await receiverPort(receiver).receive({
    method: 'POST',
    url: '/hook',
    headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}') },
    read: () => new Promise(() => {}),
  })
  expect(status).toBe(408)
})
