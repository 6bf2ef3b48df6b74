import { createReceiver } from 'geohook'
import { createInspector, createRequestLog } from 'geohook/inspector'
import { expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { expectTimes } from '../helpers/expect-times.ts'
import { FEATURE, JOB, seed, start } from '../mock/support.ts'
import { CREATED, open, receiver } from './helpers/mock-support.ts'
import { quiet } from './helpers/request-log-support.ts'

const TOKEN = 'a token of the test'

/** The page of a request log after many refused requests. */
async function openList(url: string): Promise<() => Promise<string>> {
  const options = { signatureKey: KEY, observer: quiet }
  const requestLog = createRequestLog(options)
  const receiver = createReceiver({ ...options, observer: requestLog.observer }).on('*', () => {})
  for (let index = 0; index < 200; index++)
    await receiver.fetch(new Request(`http://a.example${url}`, { method: 'POST', body: '{}' }))
  const page = createInspector(requestLog, { token: TOKEN })
  return async () => {
    const headers = { authorization: `Bearer ${TOKEN}` }
    return (await page.fetch(new Request('http://app.example/', { headers }))).text()
  }
}

it.each(["'", '%70', '%2570', '\\p'])(
  'long URLs of %s make the list neither large nor slow',
  async (part) => {
    const lists = await Promise.all(
      [30, 15_000].map((length) => openList(`/hook?${part.repeat(length / part.length)}`)),
    )
    const [short = async () => '', long = short] = lists
    const sizes = [(await short()).length, (await long()).length] as const
    expect(sizes[1] / sizes[0]).toBeLessThan(10)
    await expectTimes(10, long, short)
  },
)

it('the list of deliveries takes no time that depends on the product of webhooks and deliveries', async () => {
  const url = await receiver()
  const startWith = async (count: number) => {
    const others = Array.from({ length: count }, (_, index) =>
      seed(
        { ...JOB, id: `job-${index}`, name: `job ${index}` },
        { hookUrl: url, signatureKey: `key of job ${index}` },
      ),
    )
    const service = await start([
      seed(FEATURE, { hookUrl: url, changeTypes: ['*'], scheduleInfo: {} }),
      ...others,
    ])
    for (let index = 0; index < 100; index++) await service.trigger(CREATED)
    return service
  }
  const [many, one] = [await startWith(1000), await startWith(1)]
  await expectTimes(
    10,
    () => open(many),
    () => open(one),
  )
})
