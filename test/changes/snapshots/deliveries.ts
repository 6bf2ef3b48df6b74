import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { createReceiver } from 'geohook'
import { createChanges, createSnapshots, type Feature, type FeatureComparison } from 'geohook/changes'
import { createMemoryInbox, createMemoryRows, type WorkOptions } from 'geohook/inbox'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createRandom } from '../../inbox/crash/random.ts'
import { keyOf } from './model.ts'
import { createReturningService, LAYERS, ORIGIN, SERVICE } from './returning-service.ts'

export interface History {
  seed: number
  /** Share of the deliveries that are lost. With lost ones, `catchUp` runs. */
  lost: number
  /** Workers that handle one delivery at a time, groups of them, or four at a time. */
  work: 'one' | 'coalesce' | 'four'
}

/** The figures of histories. */
export interface Figures {
  deliveries: number
  lost: number
  /** Number of compared features. */
  compared: number
  /** Number of deliveries whose handler got no layers. */
  late: number
  copies: number
  wrong: string[]
}

const WORK: Record<History['work'], WorkOptions> = {
  one: { concurrency: 1 },
  coalesce: { coalesce: { by: 'service', wait: 5 } },
  four: { concurrency: 4 },
}

/**
 * Runs one random history: edits whose deliveries arrive in any order, late, twice or never; handlers that fail; and
 * copies. Compares each `before` and `after`, and in the end the stored rows with the service.
 */
export async function runHistory({ seed, lost, work }: History): Promise<Figures> {
  const random = createRandom(seed)
  const service = createReturningService(random)
  const inbox = createMemoryInbox({
    retryDelay: 1,
    maxRetryDelay: 5,
    observer: {
      failed() {},
      dead: ({ error }) => void figures.wrong.push(`a dead letter: ${error}`),
      trouble() {},
    },
  })
  const changes = createChanges({
    origins: [ORIGIN],
    inbox,
    fetch: service.fetch,
    pollInterval: { min: 1, max: 2 },
  })
  const store = createMemoryRows()
  const snapshots = createSnapshots({ store })
  const figures: Figures = { deliveries: 0, lost: 0, compared: 0, late: 0, copies: 0, wrong: [] }
  /** What the handlers have handled, by layer and key: all states, the latest one last. */
  const handled = new Map<string, (Feature | undefined)[]>()
  const wrong = (text: string): void => void figures.wrong.push(text)

  function check(layer: number, at: number, feature: FeatureComparison): void {
    figures.compared++
    const { id, before, after, changed = [] } = feature
    const states = handled.get(`${layer} ${id}`) ?? [undefined]
    // Four attempts at a time do not see what the others are about to store.
    const possible = work === 'four' ? [undefined, ...states] : states.slice(-1)
    if (!possible.some((state) => isDeepStrictEqual(toPlain(state), toPlain(before))))
      wrong(`${layer} ${id}: before is ${JSON.stringify(before)}, and not ${JSON.stringify(states.at(-1))}`)
    const now = service.stateAt(layer, id, at)
    if (after && !isDeepStrictEqual(toPlain(after), toPlain(now)))
      wrong(`${layer} ${id}: after is ${JSON.stringify(after)}, and not ${JSON.stringify(now)}`)
    const since = Number(before?.attributes.note ?? 0)
    const isDeleted = service
      .historyOf(layer, id)
      .some(({ kind, generation }) => kind === 'delete' && generation > since)
    if (!after && !isDeleted) wrong(`${layer} ${id} was not deleted since generation ${since}`)
    if (changed.includes('GlobalID')) wrong(`${layer} ${id}: its global id did not change`)
  }

  /** Attempts of each delivery that fail. */
  const failures = new Map<string, number>()
  const receiver = createReceiver({ signatureKey: KEY, inbox }).on('*', async (event, { id }, context) => {
    const left = failures.get(id) ?? (random.next() < 0.2 ? random.between(1, 2) : 0)
    failures.set(id, left - 1)
    const where = left > 0 ? random.between(0, 2) : undefined
    if (where === 0) throw new Error('before')
    if (where === 1)
      context.onSuccess(() => {
        throw new Error('late')
      })
    const result = await changes.of(event, context)
    if (result.layers.length === 0) figures.late++
    const layers = await snapshots.compare(result, context)
    for (const layer of layers) {
      const at = result.layerServerGens.find((one) => one.id === layer.id)?.serverGen ?? Number.NaN
      for (const feature of layer.features) check(layer.id, at, feature)
    }
    context.onSuccess(() => {
      for (const { id: layer, features } of layers)
        for (const { id: key, after } of features)
          handled.set(`${layer} ${key}`, [...(handled.get(`${layer} ${key}`) ?? []), after])
    })
    if (where === 2) throw new Error('after')
  })
  inbox.work(receiver, WORK[work])

  async function send(changesUrl: string): Promise<void> {
    figures.deliveries++
    const events = [{ eventType: 'FeaturesEdited', when: figures.deliveries }]
    await deliver(receiver, JSON.stringify({ serviceName: 'Parcels', changesUrl, events }))
  }

  async function idle(): Promise<void> {
    for (;;) {
      const { waiting, active } = await inbox.stats()
      if (waiting + active === 0) return
      await setTimeout(2)
    }
  }

  async function copy(): Promise<void> {
    figures.copies++
    await snapshots.forget(SERVICE)
    handled.clear()
    for (const layer of LAYERS) {
      const features = service.featuresOf(layer)
      const generation = service.generationOf(layer)
      await setTimeout(random.between(0, 3))
      await snapshots.fill(SERVICE, layer, [...features.values()], generation)
      for (const [key, feature] of features) handled.set(`${layer} ${key}`, [feature])
    }
  }

  const catchUp =
    lost > 0 ? changes.catchUp({ services: [SERVICE], onError: (error) => wrong(`${error}`) }) : undefined
  await catchUp?.poll()
  const sent: string[] = []
  const pending: string[] = []
  const steps = random.between(5, 25)
  for (let step = 0; step < steps; step++) {
    const begin = service.generation
    for (let edits = random.between(1, 4); edits > 0; edits--) service.edit()
    const changesUrl = `${SERVICE}/extractChanges?serverGens=[${begin},${service.generation}]`
    if (random.next() < lost) figures.lost++
    else pending.splice(random.between(0, pending.length), 0, changesUrl)
    if (sent.length > 0 && random.next() < 0.2)
      pending.push(sent[random.between(0, sent.length - 1)] as string)
    for (const url of pending.splice(0, random.between(0, pending.length))) {
      sent.push(url)
      await send(url)
    }
    if (random.next() < 0.1) await changes.resync(SERVICE, copy)
    if (random.next() < 0.3) await catchUp?.poll()
    if (random.next() < 0.4) await idle()
    else await setTimeout(random.between(0, 8))
  }
  for (const url of pending) await send(url)
  await idle()
  for (let polls = 0; polls < 3; polls++) {
    await catchUp?.poll()
    await idle()
  }
  await catchUp?.close()
  await inbox.close()

  for (const layer of LAYERS) {
    const features = service.featuresOf(layer)
    for (const row of await store.read({ service: SERVICE, id: layer }, service.idsOf(layer), [])) {
      const expected = features.get(row.key)
      features.delete(row.key)
      if (!isDeepStrictEqual(toPlain(row.value && JSON.parse(row.value)), toPlain(expected)))
        wrong(`${layer} ${row.key}: the row is ${row.value}, and not ${JSON.stringify(expected)}`)
    }
    for (const key of features.keys()) wrong(`${layer} ${key} has no row`)
  }
  return figures
}

/** A row with its global id in one spelling. */
function toPlain(row: unknown): unknown {
  if (!row) return undefined
  const { attributes } = JSON.parse(JSON.stringify(row)) as Feature
  return { ...attributes, GlobalID: keyOf(attributes.GlobalID) }
}
