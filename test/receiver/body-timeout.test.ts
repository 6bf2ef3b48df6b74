import { createReceiver } from 'geohook'
import { expect, it, onTestFinished, vi } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'

it('ends an upload after a second pause, so that a busy process does not keep slow uploads', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 10_000
    return now
  })
  onTestFinished(() => clock.mockRestore())
  const receiver = createReceiver({ signatureKey: KEY, bodyTimeout: 120, observer: {} })
  const { status } = await receiver.receive({
    method: 'POST',
    url: '/hook',
    headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}') },
    read: () => new Promise(() => {}),
  })
  expect(status).toBe(408)
})
