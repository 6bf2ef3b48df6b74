import { createReceiver } from 'geohook'
import { createMemoryInbox } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'

it('does not begin the handler of the second event if the attempt times out during the first', async () => {
  const inbox = createMemoryInbox({ timeout: 100, attempts: 1, observer: { dead() {} } })
  const { gate, release } = createGate()
  const begun: string[] = []
  let hasFirstEnded = false
  const receiver = createReceiver({ signatureKey: KEY, inbox })
    .on('First', async () => {
      begun.push('First')
      await gate // ignores the abort signal
      hasFirstEnded = true
    })
    .on('Second', () => begun.push('Second'))
  expect((await deliver(receiver, payloadOf('First', 'Second'))).status).toBe(202)
  const workers = inbox.work(receiver)
  await until(async () => (await inbox.stats()).dead === 1)
  const closing = workers.close()
  release()
  await closing
  await until(() => hasFirstEnded)
  // Give the second handler time to begin.
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(begun).toEqual(['First'])
  await inbox.close()
})
