import type { Clock } from '../clock.ts'
import type { Fault } from './faults.ts'

/** The order of deliveries, and the faults of it. */
export interface Order {
  /** The place of a delivery: later ones have higher numbers. */
  next(): number
  /** Resolves when a delivery with a fault may be sent. */
  holdBack(webhookId: string, place: number, fault: Readonly<Fault>, signal: AbortSignal): Promise<void>
  /** Lets go what was held back for a delivery that came later, and was sent now. */
  sent(webhookId: string, place: number): void
}

const DELAYED = 5_000
const REORDERED = 10_000

export function createOrder(clock: Clock): Order {
  /** Deliveries that are held back until the webhook's next one was sent. */
  const heldBack = new Map<string, { place: number; release(): void }>()
  let places = 0
  return {
    next: () => ++places,
    async holdBack(webhookId, place, { fault, delay }, signal) {
      if (fault === 'delayed') await waited(clock, delay ?? DELAYED, signal)
      // While one is held back, the next goes before it: held back as well, it would keep the order.
      if (fault !== 'reordered' || heldBack.has(webhookId)) return
      const next = new AbortController()
      const held = { place, release: () => next.abort() }
      heldBack.set(webhookId, held)
      await waited(clock, delay ?? REORDERED, AbortSignal.any([next.signal, signal]))
      if (heldBack.get(webhookId) === held) heldBack.delete(webhookId)
    },
    sent(webhookId, place) {
      const held = heldBack.get(webhookId)
      if (held && place > held.place) held.release()
    },
  }
}

/** Waits. Whether it was to the end. */
export const waited = (clock: Clock, milliseconds: number, signal: AbortSignal): Promise<boolean> =>
  clock.wait(milliseconds, signal).then(
    () => true,
    () => false,
  )
