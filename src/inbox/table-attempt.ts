import type { StoredDelivery } from '../receiver/types.ts'
import type { QueuedDelivery } from './call-queue.ts'
import type { TakenDelivery } from './engine-port.ts'

/** An attempt to handle a delivery from a table. */
export interface TableAttempt extends QueuedDelivery {
  taken: TakenDelivery
  /** When the lease began or was last renewed. */
  heldAt: number
  /** Set as soon as the handlers are called. */
  call?: { members: readonly TableAttempt[]; stop: AbortController }
  /** Set if another process has taken the delivery. */
  lost?: Error
  ended: Promise<void>
  end(): void
}

/** @param onEnd called when the attempt has ended */
export function createTableAttempt(taken: TakenDelivery, heldAt: number, onEnd: () => void): TableAttempt {
  const { delivery, attempt, isSuspect, damage } = taken
  let resolveEnded = () => {}
  const ended = new Promise<void>((resolve) => {
    resolveEnded = resolve
  })
  const end = () => {
    onEnd()
    resolveEnded()
  }
  return { taken, heldAt, delivery, isAlone: isSuspect || attempt > 1 || damage !== undefined, ended, end }
}

export const toEvent = ({
  taken: { delivery, attempt },
}: TableAttempt): { delivery: StoredDelivery; attempt: number } => ({
  delivery,
  attempt,
})
