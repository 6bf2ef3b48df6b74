import { type Delivery, type HandlerContext, parsePayload, type StoredDelivery } from 'geohook'
import { type ChangesClient, createChanges } from 'geohook/changes'
import { expect, it } from 'vitest'
import { receiverPort } from '../helpers/receiver-port.ts'
import { toEvent } from './support.ts'
import { PATIENT, startWindows } from './windows-server.ts'

/** A promise that is resolved from outside. */
function createGate() {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

/** Waits, so that a call that must not come could come. On a slow machine, this can hide a fault, but causes none. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50))

/** Decodes a stored delivery, so that it can be put into an inbox. */
async function decode(stored: StoredDelivery): Promise<Delivery> {
  const parsed = parsePayload({ body: stored.rawBody, contentType: stored.contentType })
  if (!parsed.ok) throw new Error(parsed.message)
  const { payload, changeTypes, events } = parsed
  return { ...stored, payload, changeTypes, events }
}

/** A receiver whose handler extracts, waits for a gate, and extracts again. Everything is written to a log. */
async function start() {
  const started = await startWindows(['Parcels', 'Roads'])
  const { receiver, changes, url } = started
  const log: string[] = []
  const gates: ReturnType<typeof createGate>[] = []
  const steps: { next?: (context: HandlerContext) => unknown } = {}
  receiver.on('*', async (event, _, context) => {
    const number = gates.push(createGate())
    await changes.of(event, context)
    log.push(`begin ${number}`)
    await gates[number - 1]?.opened
    await steps.next?.(context)
    log.push(`end ${number}`)
  })
  const copy = (client: ChangesClient = changes, service = url) =>
    client.resync(service, async () => {
      log.push('copy')
      await settle()
      log.push('copied')
    })
  return { ...started, log, gates, steps, copy }
}

it('a copy waits for handlers that have changes, and later handlers wait for the copy', async () => {
  const { send, gates, log, copy } = await start()
  const first = send('[10,20]')
  await expect.poll(() => log, PATIENT).toEqual(['begin 1'])
  const copying = copy()
  const second = send('[100,110]')
  await settle()
  expect(log).toEqual(['begin 1'])
  for (const { open } of gates) open()
  await Promise.all([first, second, copying])
  expect(log).toEqual(['begin 1', 'end 1', 'copy', 'copied', 'begin 2', 'end 2'])
})

it('a handler that has changes gets further ones while a copy waits', async () => {
  const { send, gates, log, steps, copy, changes, urls } = await start()
  steps.next = async (context) => {
    for (const url of urls) await changes.of(toEvent(`${url}/extractChanges?serverGens=[30,40]`), context)
  }
  const first = send('[10,20]')
  await expect.poll(() => log, PATIENT).toEqual(['begin 1'])
  const copies = [copy(), copy(changes, urls[1])]
  await settle()
  gates[0]?.open()
  expect(await first).toBe(200)
  await Promise.all(copies)
})

it('copies of the same service run one after another, also those of another client of the inbox', async () => {
  const { log, copy, inbox, url, urls, changes } = await start()
  const other = createChanges({ origins: [new URL(url).origin], inbox })
  await Promise.all([copy(), copy(other)])
  expect(log).toEqual(['copy', 'copied', 'copy', 'copied'])
  log.length = 0
  await Promise.all([copy(), copy(changes, urls[1])])
  expect(log).toEqual(['copy', 'copy', 'copied', 'copied'])
})

it('a copy of catchUp waits too', async () => {
  const { send, gates, log, changes, url } = await start()
  const first = send('[10,20]')
  await expect.poll(() => log, PATIENT).toEqual(['begin 1'])
  const catchUp = changes.catchUp({ services: [url], resync: () => log.push('copy') })
  await settle()
  gates[0]?.open()
  await Promise.all([first, catchUp.poll()])
  await catchUp.close()
  expect(log).toEqual(['begin 1', 'end 1', 'copy'])
})

it('a handler that failed, and one that ignores its signal, stop no copy', async () => {
  const { gates, log, steps, copy, stored, receiver } = await start()
  steps.next = () => {
    throw new Error('no')
  }
  const failing = receiver.handle(stored('[10,20]'))
  await expect.poll(() => log, PATIENT).toEqual(['begin 1'])
  gates[0]?.open()
  await expect(failing).rejects.toThrow('no')
  await copy()
  const controller = new AbortController()
  void receiver.handle(stored('[20,30]'), { attempt: 1, signal: controller.signal }).catch(() => {})
  await expect.poll(() => log, PATIENT).toContain('begin 2')
  const copying = copy()
  controller.abort(new Error('timeout'))
  await copying
  gates[1]?.open()
})

it('handlers of several deliveries together are one attempt', async () => {
  const { gates, log, copy, stored, receiver } = await start()
  const handling = receiverPort(receiver).handleTogether([stored('[10,20]'), stored('[20,30]')])
  await expect.poll(() => log, PATIENT).toEqual(['begin 1'])
  const copying = copy()
  await settle()
  gates[0]?.open()
  await Promise.all([handling, copying])
  expect(log).toEqual(['begin 1', 'end 1', 'copy', 'copied'])
})

it('a handler can copy the service itself', async () => {
  const { send, gates, log, steps, url, changes } = await start()
  steps.next = async (context) => {
    await changes.resync(url, () => log.push('copy'), context)
  }
  // Each would wait for the other.
  const both = [send('[10,20]'), send('[20,30]')]
  await expect.poll(() => log, PATIENT).toHaveLength(2)
  for (const { open } of gates) open()
  expect(await Promise.all(both)).toEqual([200, 200])
  expect(log.filter((line) => line === 'copy')).toHaveLength(2)
})

it('a handler can copy a service that has purged its changes', async () => {
  const { receiver, stored, send, changes, url, answers, inbox } = await startWindows()
  answers.extract = () => ({ error: { code: 400, message: 'no' } })
  let minServerGen = 50
  answers.describe = () => ({
    changeTrackingInfo: { layerServerGens: [{ id: 0, minServerGen, serverGen: 2 * minServerGen }] },
  })
  let copies = 0
  receiver.on('*', async (event, _, context) => {
    await changes.of(event, context).catch((error) => {
      expect(error.code).toBe('resync_required')
      return changes.resync(url, () => copies++)
    })
  })
  expect(await send('[10,20]')).toBe(200)
  minServerGen = 150
  inbox.work(receiver)
  await inbox.put(await decode(stored('[100,200]')))
  await expect.poll(() => inbox.stats(), PATIENT).toMatchObject({ done: 1 })
  expect(copies).toBe(2)
})

it('workers of an inbox wait before the handlers, which can hold a lock that the copy needs', async () => {
  const { receiver, stored, changes, url, inbox } = await startWindows()
  const log: string[] = []
  /** Runs one function at a time. */
  let last: Promise<unknown> = Promise.resolve()
  const alone = (run: () => Promise<unknown>): Promise<unknown> => {
    last = last.then(run)
    return last
  }
  receiver.on('*', (event, _, context) =>
    alone(async () => {
      log.push('begin')
      await settle()
      await changes.of(event, context)
      log.push('end')
    }),
  )
  for (const coalesce of [undefined, { by: 'service', wait: 1 } as const]) {
    log.length = 0
    const workers = inbox.work(receiver, { coalesce })
    const copy = () => alone(async () => log.push('copy'))
    const first = changes.resync(url, async () => {
      await inbox.put(await decode(stored('[10,20]')))
      await settle()
      await copy()
    })
    await first
    await expect.poll(() => log, PATIENT).toContain('begin')
    await changes.resync(url, copy)
    expect(log).toEqual(['copy', 'begin', 'end', 'copy'])
    await workers.close()
  }
})

it('waits no longer when a signal is aborted', async () => {
  const { send, gates, log, copy, changes, url, stored, receiver } = await start()
  const first = send('[10,20]')
  await expect.poll(() => log, PATIENT).toEqual(['begin 1'])
  const stop = new AbortController()
  const stopped = changes.resync(url, () => log.push('never'), stop)
  stop.abort(new Error('stopped'))
  await expect(stopped).rejects.toThrow('stopped')
  // Nothing waits for the copy that was stopped.
  const second = send('[20,30]')
  await expect.poll(() => log, PATIENT).toEqual(['begin 1', 'begin 2'])
  const copying = copy()
  const controller = new AbortController()
  const third = receiver.handle(stored('[30,40]'), { attempt: 1, signal: controller.signal })
  controller.abort(new Error('timeout'))
  await expect(third).rejects.toThrow('timeout')
  gates[0]?.open()
  gates[1]?.open()
  await Promise.all([first, second, copying])
  expect(log).not.toContain('never')
})

it('lets handlers begin when a copy that ignores its signal is aborted', async () => {
  const { send, gates, log, changes, url } = await start()
  const controller = new AbortController()
  const copying = changes.resync(url, () => new Promise(() => {}), controller)
  const first = send('[10,20]')
  await settle()
  expect(log).toEqual([])
  controller.abort(new Error('stopped'))
  await expect(copying).rejects.toThrow('stopped')
  await expect.poll(() => log, PATIENT).toEqual(['begin 1'])
  gates[0]?.open()
  expect(await first).toBe(200)
})

it('a context of an application holds a service during of()', async () => {
  const { changes, url, copy, log } = await start()
  const event = toEvent(`${url}/extractChanges?serverGens=[10,20]`)
  await changes.of(event, { onSuccess() {} })
  await copy()
  const copying = copy()
  await changes.of(event, { onSuccess() {} })
  expect(log).toEqual(['copy', 'copied', 'copy', 'copied'])
  await copying
})
