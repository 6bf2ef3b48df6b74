import type { Clock } from '../clock/clock.ts'
import type { Fault } from '../faults/faults.ts'

/** Holds back deliveries that have the fault `delayed` or `reordered`. */
export interface HoldBack {
  /** Returns the sequence number (`place`) for a new delivery, starting at 1. */
  nextPlace(): number
  /** Resolves when a delivery may be sent: immediately unless its fault is `delayed` or `reordered`. */
  wait(webhookId: string, place: number, fault: Readonly<Fault>, signal: AbortSignal): Promise<void>
  /** Reports that a delivery was sent. Releases the webhook's held-back `reordered` delivery if its place is lower. */
  sent(webhookId: string, place: number): void
}

const DELAYED_MS = 5_000
const REORDERED_MS = 10_000

export function createHoldBack(clock: Clock): HoldBack {
  /** By webhook id: the delivery that is held back until a later one is sent. */
  const reordered = new Map<string, { place: number; release(): void }>()
  let places = 0

  return {
    nextPlace: () => ++places,
    async wait(webhookId, place, { fault, delay }, signal) {
      if (fault === 'delayed') await waitUnlessAborted(clock, delay ?? DELAYED_MS, signal)
      // Holds back only one delivery of a webhook, because holding back two would not change their order.
      if (fault !== 'reordered' || reordered.has(webhookId)) return
      const laterSent = new AbortController()
      const held = { place, release: () => laterSent.abort() }
      reordered.set(webhookId, held)
      await waitUnlessAborted(clock, delay ?? REORDERED_MS, AbortSignal.any([laterSent.signal, signal]))
      if (reordered.get(webhookId) === held) reordered.delete(webhookId)
    },
    sent(webhookId, place) {
      const held = reordered.get(webhookId)
      if (held && place > held.place) held.release()
    },
  }
}

/** @returns false if the signal was aborted before the time elapsed */
export const waitUnlessAborted = (
  clock: Clock,
  milliseconds: number,
  signal: AbortSignal,
): Promise<boolean> =>
  clock.wait(milliseconds, signal).then(
    () => true,
    () => false,
  )
