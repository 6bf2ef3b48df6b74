import type { Handler, StoredDelivery } from 'geohook'
import { expect, it } from 'vitest'
import { toEvent } from './support.ts'
import { PATIENT, startWindows, windowsOf } from './windows-server.ts'

/** A handler that adds the windows that it gets to `seen`. */
const collect =
  ({ changes }: Pick<Awaited<ReturnType<typeof startWindows>>, 'changes'>, seen: unknown[]): Handler =>
  async (event, _, context) => {
    seen.push(windowsOf(await changes.of(event, context)))
  }

it('a handler gets no changes of a window that it has handled', async () => {
  const started = await startWindows()
  const { receiver, send, requests, inbox, url } = started
  const seen: unknown[] = []
  receiver.on('*', collect(started, seen))
  for (const window of ['[10,20]', '[20,40]', '[20,30]', '[10,40]', '[5,40]', '[30,50]']) await send(window)
  expect(seen).toEqual([['[10,20]'], ['[20,40]'], [], [], ['[5,40]'], ['[30,50]']])
  // Before it leaves out a window, it asks whether the service was restored.
  expect(requests.filter((request) => request === 'Parcels describe')).toHaveLength(2)
  expect(await inbox.generations.get(url)).toEqual(new Map([[0, 50]]))
})

it('a window that begins before the first one of a handler is not late', async () => {
  const started = await startWindows()
  const { receiver, send } = started
  const created: unknown[] = []
  const deleted: unknown[] = []
  receiver.on('FeaturesCreated', collect(started, created)).on('FeaturesDeleted', collect(started, deleted))
  await send('[10,20]', 'FeaturesDeleted')
  await send('[20,30]', 'FeaturesCreated')
  // Nothing announced the changes up to 30 to this handler.
  await send('[30,40]', 'FeaturesDeleted')
  await send('[20,30]', 'FeaturesDeleted')
  await send('[10,20]', 'FeaturesCreated')
  expect(deleted).toEqual([['[10,20]'], ['[30,40]'], ['[20,30]']])
  expect(created).toEqual([['[20,30]'], ['[10,20]']])
  await send('[20,30]', 'FeaturesDeleted')
  await send('[30,40]', 'FeaturesDeleted')
  expect(deleted.slice(3)).toEqual([['[20,30]'], []])
})

it('handlers of the same change types are late on their own, and share what both need', async () => {
  const started = await startWindows()
  const { receiver, send, changes, requests } = started
  const first: unknown[] = []
  const second: object[] = []
  let isEager = false
  receiver.on('*', collect(started, first))
  for (let count = 0; count < 2; count++)
    receiver.on('*', async (event, _, context) => {
      if (isEager) second.push(await changes.of(event, context))
    })
  await send('[10,20]')
  isEager = true
  await send('[10,20]')
  expect(first).toEqual([['[10,20]'], []])
  expect(second.map((result) => windowsOf(result as never))).toEqual([['[10,20]'], ['[10,20]']])
  expect(second[0]).toBe(second[1])
  expect(requests).toEqual(['Parcels [10,20]', 'Parcels describe', 'Parcels [10,20]'])
  await send('[10,20]')
  expect(requests.slice(3)).toEqual(['Parcels describe', 'Parcels describe', 'Parcels describe'])
})

it('keeps layers apart', async () => {
  const started = await startWindows()
  const { receiver, send, answers } = started
  answers.layers = [0, 1, 2]
  const seen: unknown[] = []
  receiver.on('*', collect(started, seen))
  await send('[10,20]', 'FeaturesEdited', '&layers=0,1')
  seen.length = 0
  await send('[10,20]', 'FeaturesEdited', '&layers=1')
  await send('[10,20]', 'FeaturesEdited', '&layers=1,2')
  await send('[10,20]')
  await send('[10,20]', 'FeaturesEdited', '&layers=2')
  expect(seen.map((windows) => (windows as unknown[]).length)).toEqual([0, 2, 3, 0])
})

it('extracts a handled window again if the service was restored', async () => {
  const started = await startWindows()
  const { receiver, send, answers } = started
  const seen: unknown[] = []
  receiver.on('*', collect(started, seen))
  await send('[10,100]')
  answers.current = 50
  await send('[20,50]')
  answers.describe = () => ({ error: { code: 400, message: 'no' } })
  await send('[20,60]')
  answers.describe = () => ({})
  await send('[20,70]')
  expect(seen).toEqual([['[10,100]'], ['[20,50]'], ['[20,60]'], ['[20,70]']])
})

it('fails if the service cannot be asked whether it was restored', async () => {
  const started = await startWindows()
  const { receiver, send, answers } = started
  receiver.on('*', collect(started, []))
  expect(await send('[10,20]')).toBe(200)
  answers.describe = () => ({ error: { code: 401, message: 'no' } })
  expect(await send('[10,20]')).toBe(500)
})

it('extracts versions of the data and windows without an end again', async () => {
  const started = await startWindows()
  const { receiver, send } = started
  const seen: unknown[] = []
  receiver.on('*', collect(started, seen))
  await send('[10,20]', 'FeaturesEdited', '&gdbVersion=kim')
  await send('[10,20]')
  for (const window of ['[10,20]', '[10]']) await send(window, 'FeaturesEdited', '&gdbVersion=kim')
  await send('[10]')
  await send('[10]')
  await send('[10,90]')
  expect(seen).toEqual([['[10,20]'], ['[10,20]'], ['[10,20]'], ['[10]'], ['[10]'], ['[10]'], []])
})

it('leaves out only the services whose window is late', async () => {
  const { receiver, send, changes, urls, requests } = await startWindows(['Parcels', 'Roads'])
  const seen: unknown[] = []
  receiver.on('*', async (event, _, context) => {
    const road = toEvent(`${urls[1]}/extractChanges?serverGens=[10,${seen.length + 20}]`)
    const { layers } = await changes.of([event, road], context)
    seen.push(layers.map(({ service }) => service === urls[1]))
  })
  for (let count = 0; count < 2; count++) await send('[10,20]')
  expect(seen).toEqual([[false, true], [true]])
  expect(requests.slice(2)).toEqual(['Parcels describe', 'Roads [10,21]'])
})

it('an attempt that fails after its changes were extracted gets them again', async () => {
  const { receiver, send, changes, inbox } = await startWindows()
  const seen: unknown[] = []
  let failing = 3
  // Registered before the changes are extracted, so it runs after the functions that are registered later.
  receiver.on('*', async (event, _, { onSuccess }) => {
    onSuccess(() => {
      if (failing-- === 3) throw new Error('no space')
    })
    seen.push(windowsOf(await changes.of(event, { onSuccess })))
  })
  receiver.on('*', async (event, _, { onSuccess }) => {
    await changes.of(event, { onSuccess })
    if (failing === 2) throw new Error('second')
  })
  const { raise } = inbox.generations
  expect(await send('[10,20]')).toBe(500)
  expect(failing).toBe(2)
  expect(await send('[10,20]')).toBe(500)
  failing = 1
  inbox.generations.raise = async (service, generations, handler) => {
    if (handler === '*#2') throw new Error('disk is full')
    await raise(service, generations, handler)
  }
  expect(await send('[10,20]')).toBe(500)
  inbox.generations.raise = raise
  expect(await send('[10,20]')).toBe(200)
  // The first handler has ended in the third attempt: only the generations of the second one were not stored.
  expect(seen).toEqual([['[10,20]'], ['[10,20]'], ['[10,20]'], []])
})

it('a context of an application leaves out nothing', async () => {
  const { receiver, send, changes } = await startWindows()
  const seen: unknown[] = []
  receiver.on('*', async (event) => {
    const functions: (() => unknown)[] = []
    seen.push(windowsOf(await changes.of(event, { onSuccess: (run) => functions.push(run) })))
    for (const run of functions) await run()
  })
  for (let count = 0; count < 2; count++) await send('[10,20]')
  expect(seen).toEqual([['[10,20]'], ['[10,20]']])
})

it('tells handlers apart whatever the change types of their names are', async () => {
  const started = await startWindows()
  const { receiver, send, inbox, url } = started
  const names = ['Änderung', 'x'.repeat(300), 'a', 'a,b', 'a#2']
  const seen: unknown[] = []
  for (const name of names) receiver.on(name, collect(started, seen))
  receiver.on(['b', 'a'], collect(started, seen))
  receiver.on('a', collect(started, seen))
  for (const name of names) await send('[10,20]', name)
  expect(seen).toHaveLength(names.length + 2)
  expect(seen).toEqual(seen.map(() => ['[10,20]']))
  expect((await inbox.generations.get(url, 'a')).size).toBeGreaterThan(0)
  expect((await inbox.generations.get(url, 'a,b#2')).size).toBeGreaterThan(0)
})

it('after a copy, no handler gets changes that the copy contains', async () => {
  const started = await startWindows()
  const { receiver, send, changes, url, answers, inbox } = started
  const seen: unknown[] = []
  receiver.on('*', collect(started, seen))
  await send('[10,20]')
  await changes.resync(url, () => {})
  expect(await inbox.generations.get(url, '*')).toEqual(new Map())
  await send('[80,100]')
  answers.current = 120
  await send('[90,110]')
  await send('[90,105]')
  expect(seen).toEqual([['[10,20]'], [], ['[90,110]'], []])
})

it('a late announcement of catchUp counts as handled', async () => {
  const started = await startWindows()
  const { receiver, send, changes, url, answers, inbox } = started
  answers.returned = [0]
  const seen: unknown[] = []
  receiver.on('*', collect(started, seen))
  await send('[0,100]')
  answers.layers = [0, 1]
  expect(await inbox.generations.get(url)).toEqual(new Map([[0, 100]]))
  const errors: unknown[] = []
  inbox.work(receiver)
  const catchUp = changes.catchUp({ services: [url], onError: (error) => errors.push(error) })
  for (let polls = 0; polls < 3; polls++) {
    await catchUp.poll()
    await expect.poll(() => inbox.stats(), PATIENT).toMatchObject({ waiting: 0, active: 0 })
  }
  await catchUp.close()
  expect(errors).toEqual([])
  expect((await inbox.generations.get(url)).get(1)).toBe(100)
  expect(seen.at(-1)).toEqual([])
})

it('a handler with a name gets the changes of lost deliveries, although another has handled them', async () => {
  const started = await startWindows()
  const { receiver, stored } = started
  const seen: Record<string, unknown[]> = { log: [], erp: [], created: [] }
  receiver
    .on('*', collect(started, seen.log as unknown[]), { name: 'log' })
    .on('FeaturesEdited', collect(started, seen.erp as unknown[]), { name: 'erp' })
    .on('FeaturesCreated', collect(started, seen.created as unknown[]), { name: 'created' })
  const [first, third, fourth] = [stored('[10,20]'), stored('[30,40]'), stored('[40,50]')]
  for (const handler of ['log', 'erp', 'created']) await receiver.handle(first, { handler })
  await receiver.handle(third, { handler: 'log' }) // the delivery of the changes from 20 to 30 was lost
  for (const handler of ['log', 'erp']) await receiver.handle(fourth, { handler })
  await receiver.handle(third, { handler: 'erp' })
  expect(seen.log).toEqual([['[10,20]'], ['[20,40]'], ['[40,50]']])
  expect(seen.erp).toEqual([['[10,20]'], ['[20,50]'], []])
  // A handler that does not get all edits continues where the others are.
  await receiver.handle(stored('[50,60]', 'FeaturesCreated'), { handler: 'created' })
  await receiver.handle(stored('[70,80]', 'FeaturesCreated'), { handler: 'created' })
  expect(seen.created).toEqual([['[50,60]'], ['[60,80]']])
})

it('a rerun gets the changes of its window again, and lowers no generations', async () => {
  const started = await startWindows()
  const { receiver, stored, requests, answers, inbox, url } = started
  const seen: Record<string, unknown[]> = { log: [], erp: [] }
  receiver
    .on('*', collect(started, seen.log as unknown[]), { name: 'log' })
    .on('FeaturesEdited', collect(started, seen.erp as unknown[]), { name: 'erp' })
  const all = ['[10,20]', '[20,30]', '[30,40]'].map((window) => stored(window))
  const readAll = () =>
    Promise.all(['', 'log: *', 'erp: FeaturesEdited'].map((key) => inbox.generations.get(url, key)))
  for (const one of all) for (const handler of ['log', 'erp']) await receiver.handle(one, { handler })
  const generations = await readAll()
  requests.length = 0
  for (const handler of ['log', 'erp'])
    await receiver.handle(all[1] as StoredDelivery, { handler, rerun: true })
  expect(seen.log).toEqual([['[10,20]'], ['[20,30]'], ['[30,40]'], ['[20,30]']])
  expect(seen.erp).toEqual(seen.log)
  // It matters only to late deliveries whether the service was restored.
  expect(requests).toEqual(['Parcels [20,30]', 'Parcels [20,30]'])
  expect(await readAll()).toEqual(generations)
  expect(generations.map((layers) => Math.max(...layers.values()))).toEqual([40, 40, 40])
  await receiver.handle(all[1] as StoredDelivery, { handler: 'log' })
  expect(seen.log?.at(-1)).toEqual([])
  answers.extract = () => ({ error: { code: 400, message: 'purged' } })
  const layerServerGens = [{ id: 0, minServerGen: 35, serverGen: 100 }]
  answers.describe = () => ({ changeTrackingInfo: { layerServerGens } })
  const purged = receiver.handle(all[1] as StoredDelivery, { handler: 'log', rerun: true })
  await expect(purged).rejects.toMatchObject({ code: 'changes_failed' })
})
