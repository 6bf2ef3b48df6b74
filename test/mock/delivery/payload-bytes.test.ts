import fc from 'fast-check'
import type { MockEvent, Webhook } from 'geohook/mock'
import { createPayload } from 'geohook/testing'
import { expect, it } from 'vitest'
import { character } from '../../helpers/character.ts'
import { FORM_TYPE } from '../../helpers/deliver.ts'
import { CREATED, createAt, NOW, named, receive } from './support.ts'

const textOf = ({ body }: { body: Uint8Array }): string => Buffer.from(body).toString()

/** A payload URL whose host is not allowed, so that the service sends no request. */
const REFUSED = 'http://10.0.0.1/'

it.each<[string, Partial<Webhook>]>([
  ['json', {}],
  ['pjson', { payloadFormat: 'pjson' }],
  ['a name that needs escapes', { name: 'a "quoted" \\ näme 🌍' }],
  ['a numeric name', { name: '1111111' }],
  ['a numeric id', { id: '2222222222222' }],
])('writes the same text as createPayload: %s', async (_, changes) => {
  const { url, requests } = await receive()
  for (const changesUrl of ['partial', 'whole', 'none'] as const) {
    const { service } = createAt(named(url, { a: changes }), { like: { changesUrl } })
    const [webhook] = service.snapshot().webhooks
    let generation = NOW
    const events = [CREATED, { ...CREATED, when: 0 }, { ...CREATED, when: NOW + 7, layerIds: [1, 2, 5] }]
    for (const event of events.toReversed()) {
      for (const changeType of ['FeaturesCreated', 'FeaturesDeleted', 'OfMyOwn']) {
        requests.length = 0
        const [attempt] = await service.trigger({ ...event, changeType })
        const { when = NOW, layerIds = [0] }: MockEvent = event
        const after = generation + layerIds.length
        const { name, id, folderName, serviceName, serviceType, payloadFormat } = webhook!
        const details = { name, id, folderName, serviceName, serviceType: serviceType as 'FeatureServer' }
        const payload = createPayload(
          { changeType, when },
          { ...details, changesUrl, serverGens: [generation, after] },
        )
        const text = JSON.stringify(payload, null, payloadFormat === 'pjson' ? 2 : 0)
        expect(textOf(attempt!.request)).toBe(text)
        expect(requests.map(textOf)).toEqual([text])
        generation = after
      }
    }
  }
})

/** The title shows the seed. To repeat a failure: `SEED=… npx vitest run test/mock/delivery/payload-bytes.test.ts`. */
const randomSeed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

it(`writes JSON and forms with numbers of any length and names of any characters, seed ${randomSeed}`, async () => {
  const lengths = fc.integer({ min: 0, max: 15 }).map((power) => 10 ** power)
  /** Numbers, often close to a power of ten, where the number of digits changes. */
  const numbers = fc.oneof(
    fc.tuple(lengths, fc.integer({ min: -3, max: 3 })).map(([power, more]) => Math.max(0, power + more)),
    fc.integer({ min: 10 ** 12, max: 10 ** 13 }),
  )
  const names = fc
    .oneof(fc.string({ unit: character }), numbers.map(String))
    .map((text) => `${text.replace(/[\p{C}\s]/gu, '-')}1`)
  const webhooks = fc.record({
    name: names,
    contentType: fc.constantFrom('application/json' as const, FORM_TYPE),
    payloadFormat: fc.constantFrom('json' as const, 'pjson' as const),
  })
  const layers = fc.integer({ min: 1, max: 5 })
  await fc.assert(
    fc.asyncProperty(
      webhooks,
      numbers,
      fc.array(fc.tuple(numbers, layers), { maxLength: 6 }),
      async (changes, start, events) => {
        const { service } = createAt(named(REFUSED, { a: changes }), {}, start)
        let generation = start
        for (const [when, count] of events) {
          const layerIds = Array.from({ length: count }, (_, index) => index)
          const [attempt] = await service.trigger({ ...CREATED, when, layerIds })
          const { name, id, folderName, serviceName, serviceType } = service.snapshot().webhooks[0]!
          const details = { name, id, folderName, serviceName, serviceType: serviceType as 'FeatureServer' }
          const serverGens = [generation, generation + count] as const
          const payload = createPayload({ changeType: CREATED.changeType, when }, { ...details, serverGens })
          const text = JSON.stringify(payload, null, changes.payloadFormat === 'pjson' ? 2 : 0)
          const isForm = changes.contentType === FORM_TYPE
          expect(textOf(attempt!.request)).toBe(
            isForm ? new URLSearchParams({ payload: text }).toString() : text,
          )
          generation += count
        }
      },
    ),
    { seed: randomSeed, numRuns: Number(process.env.RUNS ?? 50) },
  )
})

it('the next payload after an edit of the webhook contains the changes', async () => {
  const { url } = await receive()
  const { service } = createAt(named(url, { a: {} }))
  const nameOf = async (): Promise<string> => {
    const [attempt] = await service.trigger(CREATED)
    return JSON.parse(textOf(attempt!.request)).name
  }
  expect(await nameOf()).toBe('a')
  const { webhooks, ...others } = service.snapshot()
  service.restore({ ...others, webhooks: webhooks.map((webhook) => ({ ...webhook, name: 'b' })) })
  expect(await nameOf()).toBe('b')
})

it.each([Number.NaN, 0.5, -1, Number.POSITIVE_INFINITY])('refuses a clock whose time is %s', async (time) => {
  const { url, requests } = await receive()
  const { service, clock } = createAt(named(url, { a: {} }))
  expect(await service.trigger(CREATED)).toHaveLength(1)
  clock.now = () => time
  const { service: other } = createAt(named(url, { a: {} }), { clock })
  await expect(other.trigger(CREATED)).rejects.toMatchObject({ code: 'config_invalid' })
  expect(requests).toHaveLength(1)
})

it('recorded bodies do not change when more and longer bodies follow', async () => {
  const { url, requests } = await receive()
  const { service } = createAt(
    ['', 'é'.repeat(50), '🌍'.repeat(20)].flatMap((name, index) =>
      named(url, {
        [`w${index}`]: { name: `w${name}`, changeTypes: ['FeaturesCreated'] },
        [`x${index}`]: {
          name: `x${name}`,
          changeTypes: ['FeaturesDeleted'],
          contentType: FORM_TYPE,
        },
      }),
    ),
  )
  const attempts = []
  for (let count = 1; count < 40; count++) {
    const several = Array.from({ length: count }, (_, when) => ({ ...CREATED, when }))
    attempts.push(...(await service.trigger([...several, { ...CREATED, changeType: 'FeaturesDeleted' }])))
  }
  expect(attempts).toHaveLength(39 * 6)
  const recorded = attempts.map(({ request }) => textOf(request))
  expect([...recorded].sort()).toEqual(requests.map(textOf).sort())
  expect(new Set(recorded).size).toBe(recorded.length)
  for (const { request } of attempts) {
    expect(Object.prototype.toString.call(request.body)).toBe('[object Uint8Array]')
    expect(Object.getPrototypeOf(request.body)).toBe(Uint8Array.prototype)
    expect(request.headers['content-length']).toBe(String(request.body.length))
  }
})

it('transferring the memory of one body does not affect others', async () => {
  const { url, requests } = await receive()
  const { service } = createAt(named(url, { a: {} }))
  const [given] = await service.trigger(CREATED)
  const [kept] = await service.trigger(CREATED)
  const before = textOf(kept!.request)
  const { buffer } = given!.request.body
  expect(buffer.byteLength).toBe(given!.request.body.length)
  structuredClone(buffer, { transfer: [buffer] })
  expect(textOf(kept!.request)).toBe(before)
  expect((await service.redeliver(kept!.id)).answer?.status).toBe(200)
  expect(await service.trigger(CREATED)).toHaveLength(1)
  expect(requests.map(({ body }) => body.length)).not.toContain(0)
  expect(requests).toHaveLength(4)
})
