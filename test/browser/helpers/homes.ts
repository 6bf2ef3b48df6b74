import { createMemoryInbox } from 'geohook/inbox'
import { fill, handleAll, ONE_ATTEMPT, payloads } from '../../helpers/dead-letters.ts'
import { KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { CREATED, mock, receiver } from '../../inspector/helpers/mock-support.ts'
import { startInspected } from '../../inspector/helpers/request-log-support.ts'
import { createFake } from './fake-source.ts'
import { serveInspector } from './serve-inspector.ts'

/** Something that has an inspector, for the tests that every one of them must pass. */
export interface Home {
  name: string
  /** Starts it with at least two deliveries, until the test ends. The newest one was refused or failed. */
  start(): Promise<Started>
}

export interface Started {
  /** Address of the inspector, without a slash at its end. */
  url: string
  /** Makes a further delivery, which the list then shows. */
  deliver(): unknown
  /** Keys, which must never be on a page. */
  secrets: readonly string[]
}

export const HOMES: readonly Home[] = [
  {
    name: 'a source in memory',
    async start() {
      const fake = createFake({ count: 10 })
      const { url } = await serveInspector(fake)
      return { url, deliver: () => fake.add(), secrets: [KEY] }
    },
  },
  {
    name: 'a mock',
    async start() {
      const service = await mock(await receiver())
      await service.trigger(CREATED)
      service.faults.add({ fault: 'wrong_key', times: 1 })
      await service.trigger(CREATED)
      return { url: service.url, deliver: () => service.trigger(CREATED), secrets: [KEY] }
    },
  },
  {
    name: 'a receiver',
    async start() {
      const { hook, pageUrl } = await startInspected()
      let number = 0
      const deliver = async (key: string = KEY): Promise<void> => {
        const body = JSON.stringify({ ...JSON.parse(payloadOf('FeaturesCreated')), number: ++number })
        const headers = { 'content-type': 'application/json', 'x-service': signatureOf(body, key) }
        await (await fetch(hook, { method: 'POST', headers, body })).text()
      }
      await deliver()
      await deliver(`${KEY}\n`)
      return { url: pageUrl, deliver: () => deliver(), secrets: [KEY] }
    },
  },
  {
    name: 'an inbox',
    async start() {
      const inbox = createMemoryInbox(ONE_ATTEMPT)
      await fill(inbox, payloads(1))
      await handleAll(inbox)
      await fill(inbox, payloads(1))
      await handleAll(inbox, 'the map is away')
      const { url } = await serveInspector(inbox)
      return { url, deliver: () => fill(inbox, payloads(1)), secrets: [KEY] }
    },
  },
]
