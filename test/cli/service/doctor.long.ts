import type { MockServiceOptions, Webhook } from 'geohook/mock'
import { expect, it } from 'vitest'
import { createFolder } from '../../helpers/cli.ts'
import { KEY } from '../../helpers/deliver.ts'
import { createRandom } from '../../inbox/crash/random.ts'
import { createInbox, DAY, doctor, EDITS, edited, HOUR, PAGE, PORTAL, start } from './doctor-support.ts'

/** To repeat a failure: `SEED=… npx vitest run --project long test/cli/service/doctor.long.ts`. */
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const PRODUCTS = ['service', 'enterprise', 'online', 'portal'] as const
const [SERVICES, WEBHOOKS] = [100, 10]

const folder = createFolder()

/** URLs that only the service reaches, with secrets in their usual places. */
const URLS = [
  'https://hooks.internal:8443/parcels',
  'https://10.0.0.7/hook?code=8fJk29sLq0',
  'https://intranet.example/8fJk29sLq08fJk29sLq0/a',
  'http://[fd00::7]/hook',
]

it(`says nothing false about 1,000 random healthy webhooks (SEED=${SEED})`, {
  timeout: 600_000,
}, async () => {
  const { next, between } = createRandom(SEED)
  const pick = <Item>(items: readonly Item[]): Item => items[between(0, items.length - 1)] as Item
  const verdicts: Record<string, number> = {}

  for (let round = 0; round < SERVICES; round++) {
    const product = pick(PRODUCTS)
    const now = Date.now()
    const failures: { webhookId: string; times: number[] }[] = []
    const webhooks = Array.from({ length: WEBHOOKS }, (_, index): Webhook => {
      const isJob = next() < 0.2 && (product === 'service' || product === 'enterprise')
      const service = isJob
        ? { serviceType: 'GPServer' as const, serviceName: 'Buffer', scheduleInfo: {} }
        : {}
      const id = `w${round}-${index}`
      const active = next() < 0.8
      // Too few to be switched off: a healthy service can list failures that successes have followed.
      const count = next() < 0.3 ? between(1, 4) : 0
      const age = () => between(active && product === 'portal' ? 6 : 0, 40) * DAY + between(1, HOUR)
      if (count > 0) failures.push({ webhookId: id, times: Array.from({ length: count }, () => now - age()) })
      const changeTypes =
        isJob || product === 'portal' ? ['*'] : pick([['*'], ['FeaturesCreated'], ['FeaturesEdited']])
      const common = { id, name: `webhook ${index}`, active, hookUrl: pick(URLS), changeTypes }
      const modified = now - between(1, 400) * DAY
      return {
        ...(product === 'portal' ? PORTAL : EDITS),
        ...service,
        ...common,
        created: modified,
        modified,
      }
    })
    const like: MockServiceOptions['like'] = {
      product,
      handshake: false,
      keys: pick(['shown', 'hidden', 'masked']),
    }
    const { url, mock, pages } = await start(webhooks, { like })
    mock.restore({ ...mock.snapshot(), failures })
    // Quiet layers: the last edit was before the last delivery, or is not known.
    pages[`${PAGE}/layers`] = edited(
      now - between(5 * HOUR, 400 * DAY),
      pick(['dataLastEditDate', 'lastEditDate', '']),
    )
    const args = ['--product', product]
    if (next() < 0.5) args.push('--key', 'older', '--key', KEY)
    if (next() < 0.5) args.push('--store', await createInbox(folder.path, url, pick(['Parcels', 'Roads'])))
    const found = await doctor(url, ...args)
    expect(found.exit).toBe(0)
    expect(found.webhooks).toHaveLength(WEBHOOKS)
    for (const { verdict, causes, doubts } of found.webhooks) {
      verdicts[verdict] = (verdicts[verdict] ?? 0) + 1
      expect(causes).toEqual([])
      expect(verdict).toBe(doubts.length > 0 ? 'unknown' : 'healthy')
    }
  }
  expect(Object.keys(verdicts).sort()).toEqual(['healthy', 'unknown'])
})
