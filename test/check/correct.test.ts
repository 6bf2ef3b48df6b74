import { createReceiver } from 'geohook'
import { it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { mountFastify } from '../helpers/mounts/node.ts'
import { hasProgram } from '../helpers/programs.ts'
import { startExpress } from './correct/express.ts'
import { checkUrl, expectConforms } from './expectations.ts'
import { startPython } from './python/start.ts'

// One receiver of each kind. correct.long.ts, python.long.ts and adapters.long.ts check all of them, with side effects.

async function expectStartedConforms({
  url,
  close,
}: {
  url: string
  close(): Promise<unknown>
}): Promise<void> {
  try {
    expectConforms(await checkUrl(url))
  } finally {
    await close()
  }
}

it.concurrent('finds nothing wrong in a receiver with Express, raw-body and node:crypto', async () => {
  await expectStartedConforms(await startExpress(KEY, () => {}))
})

it.skipIf(!hasProgram('python3')).concurrent('finds nothing wrong in a receiver in Python', async () => {
  const { url, stop } = await startPython('receiver.py')
  await expectStartedConforms({ url, close: () => stop() })
})

it.concurrent('finds nothing wrong in the adapter for Fastify', async () => {
  const receiver = createReceiver({ signatureKey: KEY, observer: {}, bodyTimeout: 3_000 }).on('*', () => {})
  await expectStartedConforms(await mountFastify(receiver))
})
