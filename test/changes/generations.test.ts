import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver } from 'geohook'
import { type ChangesClient, createChanges, type ResyncContext } from 'geohook/changes'
import { createMemoryInbox, type DurableInbox } from 'geohook/inbox'
import { expect, it, onTestFinished } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { KEY } from '../helpers/deliver.ts'
import { FAST, toEvent } from './support.ts'

interface Answers {
  serverGens: number[]
  fails: boolean
  /** Called after the generations are read, and before they are sent. */
  before?: (() => Promise<void>) | undefined
}

interface Started {
  url: string
  inbox: DurableInbox
  changes: ChangesClient
  /** What the service answers: its current generations, by layer, and whether its extractions fail. */
  answers: Answers
  extract(query: string): Promise<void>
}

/** Starts a service whose layers have generations of their own, as in the vendor's examples. */
async function start(...serverGens: number[]): Promise<Started> {
  const answers: Answers = { serverGens, fails: false }
  const server = createServer(async ({ url: path = '' }, res) => {
    const serverGens = [...answers.serverGens]
    await answers.before?.()
    const layers = serverGens.map((serverGen, id) => ({ id, serverGen, minServerGen: 1 }))
    const description = {
      capabilities: 'ChangeTracking',
      changeTrackingInfo: { layerServerGens: layers },
    }
    const changes = answers.fails
      ? { error: { code: 400, message: 'failed' } }
      : { layerServerGens: layers.map(({ id, serverGen }) => ({ id, serverGen })), edits: [] }
    res.end(JSON.stringify(path.endsWith('/extractChanges') ? changes : description))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = `${origin}/rest/services/Parcels/FeatureServer`
  const inbox = createMemoryInbox()
  onTestFinished(() => inbox.close())
  const changes = createChanges({ origins: [origin], inbox, pollInterval: FAST })

  async function extract(query: string): Promise<void> {
    const functions: (() => unknown)[] = []
    const { signal } = new AbortController()
    await changes.of(toEvent(`${url}/extractChanges?${query}`), {
      signal,
      onSuccess: (run) => functions.push(run),
    })
    for (const run of functions) await run()
  }
  return { url, inbox, changes, answers, extract }
}

it('a failed extraction needs no resync because a layer without edits is behind the others', async () => {
  const { url, inbox, answers, extract } = await start(5, 9)
  await extract('serverGens=[4,9]')
  expect(await inbox.generations.get(url)).toEqual(
    new Map([
      [0, 9],
      [1, 9],
    ]),
  )
  answers.fails = true
  await expect(extract('serverGens=[9,10]')).rejects.toMatchObject({ code: 'changes_failed' })
})

it('an old window does not raise the generations above those of a service that was restored', async () => {
  const { url, inbox, extract } = await start(20)
  await inbox.generations.raise(url, new Map([[0, 20]]))
  await extract('serverGens=[90,100]')
  expect(await inbox.generations.get(url)).toEqual(new Map([[0, 20]]))
})

it('copies a restored service again if the process ended while the generations of its copy were stored', async () => {
  const { url, inbox, changes, answers } = await start(100)
  const reasons: string[] = []
  const poll = async () => {
    const resync = (_: string, { reason }: ResyncContext) => reasons.push(reason)
    const running = changes.catchUp({ services: [url], resync, onError() {} })
    await running.poll()
    await running.close()
  }
  await poll()
  answers.serverGens = [20]
  const { replace } = inbox.generations
  let left = 1
  inbox.generations.replace = async (service, generations) => {
    if (left-- <= 0) throw new Error('ended')
    await replace(service, generations)
  }
  await poll()
  inbox.generations.replace = replace
  await poll()
  expect(await inbox.generations.get(url)).toEqual(new Map([[0, 20]]))
  expect(new Set(reasons)).toEqual(new Set(['first_start', 'reset']))
})

it('copies a service at the first start with resync, also if it was caught up without resync before', async () => {
  const { url, changes } = await start(20)
  const reasons: string[] = []
  const poll = async (resync?: (_: string, context: ResyncContext) => unknown) => {
    const running = changes.catchUp({ services: [url], resync })
    await running.poll()
    await running.close()
  }
  await poll()
  for (let polls = 0; polls < 2; polls++) await poll((_, { reason }) => reasons.push(reason))
  await poll()
  await poll((_, { reason }) => reasons.push(reason))
  expect(reasons).toEqual(['first_start'])
})

it('hands over changes after a restore also if earlier ones had the same generations', async () => {
  const { url, inbox, changes, answers } = await start(5)
  const receiver = createReceiver({ signatureKey: KEY }).on('*', (event, _, context) =>
    changes.of(event, context),
  )
  inbox.work(receiver)
  for (const generation of [5, 10, 5, 10]) {
    answers.serverGens = [generation]
    const running = changes.catchUp({ services: [url], resync() {} })
    await running.poll()
    await running.close()
    await until(async () => (await inbox.stats()).waiting + (await inbox.stats()).active === 0)
    expect(await inbox.generations.get(url)).toEqual(new Map([[0, generation]]))
  }
})

it('finds a reset after deliveries raised the generations since the last poll', async () => {
  const { url, changes, answers, extract } = await start(100)
  const reasons: string[] = []
  const running = changes.catchUp({ services: [url], resync: (_, { reason }) => reasons.push(reason) })
  onTestFinished(() => running.close())
  await running.poll()
  answers.serverGens = [200]
  await extract('serverGens=[100,200]')
  answers.serverGens = [150]
  await running.poll()
  expect(reasons).toEqual(['first_start', 'reset'])
})

it('finds no reset if another process sees newer generations during a poll', async () => {
  const { url, changes, answers } = await start(100)
  const errors: unknown[] = []
  const options = { services: [url], onError: (error: unknown) => errors.push(error) }
  const first = changes.catchUp(options)
  onTestFinished(() => first.close())
  await first.poll()
  // The response to this poll arrives after the other process has polled.
  let respond = (): void => {}
  const late = new Promise<void>((resolve) => {
    respond = resolve
  })
  const asked = new Promise<void>((resolve) => {
    answers.before = () => {
      answers.before = undefined
      resolve()
      return late
    }
  })
  const polling = first.poll()
  await asked
  answers.serverGens = [105]
  const second = changes.catchUp(options)
  onTestFinished(() => second.close())
  await second.poll()
  respond()
  await polling
  expect(errors).toEqual([])
})

// More than a function can have arguments.
it('reads the description of very many layers', async () => {
  const { url, inbox, changes, answers } = await start()
  answers.serverGens = Array.from({ length: 130_000 }, (_, id) => id + 1)
  const errors: unknown[] = []
  const running = changes.catchUp({ services: [url], onError: (error) => errors.push(error) })
  onTestFinished(() => running.close())
  await running.poll()
  expect(errors).toEqual([])
  expect((await inbox.generations.get(url)).size).toBe(130_000)
})

it('resync() rejects with the reason of its signal, also if the copy never ends', async () => {
  const { url, changes } = await start(5)
  const controller = new AbortController()
  const copying = changes.resync(
    url,
    () => {
      controller.abort(new Error('stop'))
      return new Promise(() => {})
    },
    controller,
  )
  await expect(copying).rejects.toThrow('stop')
})
