import type { WebhookError } from '../errors.ts'
import { MissingDriver } from './driver.ts'
import type { Workers } from './durable-inbox.ts'
import { type TakenDelivery, taskName } from './engine-port.ts'
import { createHandover } from './handover.ts'
import { acquireSuspectSlot, awaitTurn, enter, isIdle, isReserved } from './suspect-slot.ts'
import { createTableAttempts, type TableAttemptsOptions } from './table-attempts.ts'

/** Maximum milliseconds between two polls of the table. Polls find deliveries that other processes have stored. */
const POLL_INTERVAL = 1_000

/** Milliseconds between two looks whether a suspect still runs alone, or waits to, in this process. */
const RESERVED_INTERVAL = 20

/** Milliseconds for which a process takes nothing else, so that a suspect can make its last attempt alone. */
const MAX_WAIT = 10_000

/** Maximum number of deliveries routed at once. */
const MAX_ROUTED = 100

export type TableWorkersOptions = Omit<TableAttemptsOptions, 'owner' | 'handover' | 'onEnd'>

/** Starts workers that take deliveries from a table, run their handlers and record how the attempts ended. */
export function startTableWorkers(options: TableWorkersOptions): Workers & {
  /** Polls the table immediately. Call it when there may be a delivery to take. */
  wake(): void
} {
  const { table, receiver, work, config, clock, inProgress } = options
  const { concurrency } = work
  const { lease, notify } = config
  const owner = crypto.randomUUID()
  let closed = false
  let isAwake = false
  let interruptSleep = () => {}

  const wake = (): void => {
    isAwake = true
    interruptSleep()
  }

  const handover = createHandover({ table, receiver, owner, lease, clock, order: work.order })
  const begun = createTableAttempts({ ...options, owner, handover, onEnd: wake })

  /**
   * Resolves after the given milliseconds, or as soon as `wake` is called. Resolves immediately if `wake` was called
   * since the last sleep.
   */
  async function sleep(milliseconds: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    if (!isAwake && milliseconds > 0) {
      await new Promise<void>((resolve) => {
        interruptSleep = resolve
        timer = setTimeout(resolve, milliseconds)
      })
    }
    clearTimeout(timer)
    isAwake = false
  }

  async function loop(): Promise<void> {
    let last: unknown
    while (!closed) {
      try {
        await sleep(await takeNext())
        last = undefined
      } catch (error) {
        // An error in the configuration stays, so it is reported once.
        const isKnown = isConfigInvalid(error) && isConfigInvalid(last)
        last = error
        if (!isKnown) notify('trouble', { error })
        if (error instanceof MissingDriver) throw error
        await sleep(POLL_INTERVAL)
      }
    }
  }

  /** @returns milliseconds to wait before calling `takeNext` again */
  async function takeNext(): Promise<number> {
    // If the event loop was blocked, leases may be about to expire: renew them before taking more deliveries.
    const now = clock()
    if (now - lastHeartbeat > lease / 2) heartbeat()
    await renewing
    await handover.announce()
    if (isPaused || performance.now() > settingsAt) {
      settingsAt = performance.now() + POLL_INTERVAL
      const settings = await table.settings()
      isPaused = settings.paused
      work.concurrency = settings.concurrency ?? concurrency
    }
    if (isPaused) {
      endWaiting()
      return POLL_INTERVAL
    }
    const isRouting = (await handover.route(MAX_ROUTED)) === MAX_ROUTED
    const free = (): string[] => handover.handlers().filter((handler) => begun.room(handler).limit > 0)
    await takeSuspect(now, free())
    if (isReserved()) return RESERVED_INTERVAL
    const leave = enter()
    try {
      const handed = isHandoversTurn ? await handover.take(begun.room) : []
      await begin(handed, now)
      const wait = handed.length > 0 ? 0 : await takeDue(free(), now)
      isHandoversTurn = handed.length === 0
      // After this turn, the next suspect need not wait for a poll.
      const isSuspectsTurn = isOthersTurn
      isOthersTurn = false
      return isRouting || isSuspectsTurn || handover.isScanning() ? 0 : Math.min(POLL_INTERVAL, wait)
    } finally {
      leave()
    }
  }

  /**
   * Takes tasks of each name, and begins with another name each time, because they share the concurrency.
   *
   * @returns milliseconds until the next one is due: 0 if one was taken, `Infinity` if it is unknown
   */
  async function takeDue(handlers: readonly string[], heldAt: number): Promise<number> {
    let next = Infinity
    turn++
    for (let index = 0; index < handlers.length; index++) {
      const handler = handlers[(index + turn) % handlers.length] ?? ''
      const room = begun.room(handler)
      if (room.limit === 0) continue
      const areNames = handover.areNames()
      const { taken, wait = Infinity } = await table.take({
        owner,
        handler,
        lease,
        ...room,
        areNames,
        order: work.order,
      })
      await begin(taken, heldAt)
      next = taken.length > 0 ? 0 : Math.min(next, Math.max(1, wait))
    }
    return next
  }

  async function begin(taken: readonly TakenDelivery[], heldAt: number): Promise<void> {
    // If this process still has an attempt of a task in progress, the new lease ends at once, and the task is a suspect:
    // another process took it in the meantime and failed, or the statement that recorded our attempt has not been
    // answered yet.
    const running = taken.filter(({ delivery: { id }, handler }) => inProgress.has(taskName(id, handler)))
    for (const next of taken) if (!running.includes(next)) begun.begin(next, heldAt, enter())
    if (running.length > 0) await table.renew(owner, running, 0)
  }

  /**
   * Takes a suspect at the poll interval, and right after another one has ended. Before the last attempt of a suspect,
   * nothing else is taken until all other attempts have ended, or for `MAX_WAIT`: if it is interrupted, it must be the
   * one to blame.
   */
  async function takeSuspect(heldAt: number, handlers: readonly string[]): Promise<void> {
    if (handlers.length === 0 || isOthersTurn || (performance.now() < suspectsAt && !(endWait && isIdle())))
      return
    const isDue = performance.now() - waitsSince > MAX_WAIT
    const isAlone = endWait !== undefined && (isIdle() || isDue)
    const freeSlot = acquireSuspectSlot(isAlone)
    if (!freeSlot) return
    let suspect: TakenDelivery | 'last' | undefined
    try {
      suspectsAt = performance.now() + POLL_INTERVAL
      const attempts = new Map(handlers.map((handler) => [handler, begun.maxAttempts(handler)]))
      const except = new Set([...inProgress, ...handover.left])
      suspect = await table.takeSuspect({ owner, lease, attempts, except, isAlone })
    } finally {
      if (suspect !== 'last') endWaiting()
      if (typeof suspect !== 'object') freeSlot()
    }
    if (suspect === 'last' && !endWait) {
      endWait = awaitTurn()
      waitsSince = performance.now()
    }
    if (typeof suspect !== 'object') return
    suspectsAt = 0
    isOthersTurn = isAlone
    begun.begin(suspect, heldAt, freeSlot)
  }

  /** Set while this loop waits until a suspect can run alone. */
  let endWait: (() => void) | undefined
  let waitsSince = 0

  function endWaiting(): void {
    endWait?.()
    endWait = undefined
  }

  let settingsAt = -Infinity
  let isPaused = false
  let suspectsAt = 0
  let turn = 0
  /** True after a suspect has run alone, until other deliveries were taken. */
  let isOthersTurn = false
  /** False after deliveries that others gave back were taken, so that waiting deliveries get their turn. */
  let isHandoversTurn = true
  let lastHeartbeat = -Infinity
  let renewing = Promise.resolve()

  function heartbeat(): void {
    lastHeartbeat = clock()
    renewing = begun.renew()
  }

  const heartbeats = setInterval(heartbeat, lease / 3)
  const looping = loop()
  return {
    wake,
    async close() {
      closed = true
      wake()
      await looping.catch(() => {})
      endWaiting()
      await Promise.all([handover.close(), begun.close()])
      clearInterval(heartbeats)
    },
  }
}

const isConfigInvalid = (error: unknown): boolean =>
  (error as WebhookError | undefined)?.code === 'config_invalid'
