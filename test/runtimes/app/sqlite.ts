import { createReceiver } from 'geohook'
import { createSqliteDuplicates, createSqliteInbox } from 'geohook/sqlite'
import { createSigner } from 'geohook/testing'

// This program uses a SQLite inbox end to end, and prints the results as JSON.
const [path = ''] = process.argv.slice(2)
const signatureKey = 'parcels2026'
const signer = createSigner({ signatureKey })
const options = { path, attempts: 2, retryDelay: 10, observer: {} }

const until = async (check: () => Promise<boolean>): Promise<void> => {
  for (const end = Date.now() + 10_000; !(await check()); ) {
    if (Date.now() > end) throw new Error('timed out')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const first = createSqliteInbox(options)
try {
  await first.stats()
} catch (error) {
  console.log(JSON.stringify({ error: String(error) }))
  process.exit()
}

const receiver = createReceiver({ signatureKey, inbox: first })
const statuses: number[] = []
for (const eventType of ['Good', 'Late', 'Bad', 'Good']) {
  const signed = await signer.sign({ serviceName: 'Parcels', events: [{ eventType }] })
  statuses.push((await receiver.fetch(new Request('http://receiver.example/hook', signed))).status)
}
await first.close()

const again = createSqliteInbox(options)
const attempts: string[] = []
again.work(
  createReceiver({ signatureKey }).on('*', ({ changeType }, _, { attempt }) => {
    attempts.push(`${changeType} ${attempt}`)
    if (changeType === 'Bad' || (changeType === 'Late' && attempt === 1)) throw new Error('not now')
  }),
)
await until(async () => (await again.stats()).dead === 1 && (await again.stats()).done === 2)
const { waiting, active, done, dead, unhandled } = await again.stats()
await again.close()

const duplicates = createSqliteDuplicates({ path })
const claims = [await duplicates.claim('a'), await duplicates.claim('a')]
await duplicates.done('a')
claims.push(await duplicates.claim('a'))
await duplicates.close()

const states = { waiting, active, done, dead, unhandled }
console.log(JSON.stringify({ statuses, attempts: attempts.sort(), ...states, claims }))
