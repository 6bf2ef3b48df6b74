import { createManualClock } from 'geohook/mock'
import { expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { handshaker, hear, rightAnswer } from '../mock/delivery/handshake-support.ts'
import { FEATURE, NOWHERE } from '../mock/support.ts'
import { CREATED, mock, open, submit } from './helpers/mock-support.ts'

const fact = (text: string): string => `<dt>Handshake</dt><dd>${text}</dd>`

it('the panel of services shows each handshake, and repeats it on demand', async () => {
  const state = { status: 405 }
  const { url } = await handshaker(({ url }, res) => void res.writeHead(state.status).end(rightAnswer(url)))
  const clock = createManualClock(1_730_385_704_000)
  const service = await mock(url, {}, { like: { handshake: true }, clock })
  const { heard } = hear(service)
  const before = await open(service, '/webhooks')
  expect(before.text).toContain(fact('due before the next delivery'))

  await service.trigger([CREATED, CREATED])
  const after = await open(service, '/webhooks')
  const time = '2024-10-31T14:41:44.000Z'
  expect(after.text).toContain(
    fact(`failed at ${time}: status 405. Deliveries are stopped; 2 events not sent.`),
  )
  expect(after.text).toContain('<span class="outcome bad">stopped</span>')
  expect(after.text).toContain('Services <span>2 webhooks, 1 stopped</span>')
  expect(after.text).not.toContain(KEY)
  const values = { entry: 'Parcels.FeatureServer', changeType: 'FeaturesCreated' }
  const triggered = await submit(service, '/webhooks/trigger', values)
  expect(triggered.text).toContain('not sent to 1 webhook whose handshake failed.')

  state.status = 200
  const repeated = await submit(service, '/webhooks/handshake', { entry: FEATURE.id })
  expect(repeated.text).toContain(`A handshake of the webhook ${FEATURE.name} is sent.`)
  await heard(4)
  const recovered = await open(service, '/webhooks')
  expect(recovered.text).toContain(fact(`succeeded at ${time}`))
  expect(recovered.text).toContain('Services <span>2 webhooks</span>')
})

it('the panel shows a handshake in flight, and a webhook without a key', async () => {
  const { url, requests } = await handshaker(({ url }, res) => {
    answers.push(() => res.end(rightAnswer(url)))
  })
  const answers: (() => void)[] = []
  const service = await mock(url, {}, { like: { handshake: true } })
  const attempts = service.trigger(CREATED)
  while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
  expect((await open(service, '/webhooks')).text).toContain(fact('in flight: deliveries wait for it'))
  answers[0]?.()
  await attempts
  const unsigned = await mock(NOWHERE, { signatureKey: '' }, { like: { handshake: true } })
  expect((await open(unsigned, '/webhooks')).text).toContain(fact('none: the webhook has no key'))
})

it('the panel shows no handshakes if the service makes none', async () => {
  const service = await mock(NOWHERE)
  const { text } = await open(service, '/webhooks')
  expect(text).not.toMatch(/handshake/i)
})
