import type { DurableInbox } from '../../inbox/durable-inbox.ts'
import type { Action, Done } from '../action.ts'
import type { Item } from '../source.ts'
import { toStoreError } from './store-errors.ts'

/** Actions on one delivery. Another process can change its state at any time, so the result says if it was too late. */
export function createActions(inbox: DurableInbox): Action<Item>[] {
  const isChangeable = ({ outcome: { word } }: Item): boolean => word === 'waiting' || word === 'dead'

  async function apply(
    { id }: Item,
    change: (id: string) => Promise<boolean>,
    [done, failed]: [done: string, failed: string],
  ): Promise<Done> {
    try {
      if (await change(id)) return { message: done }
      const state = (await inbox.get(id))?.state
      return { message: `${failed}: ${describeState(state)}.`, ok: false }
    } catch (error) {
      throw toStoreError(error)
    }
  }

  return [
    {
      name: 'retry',
      label: 'Retry',
      isAvailable: isChangeable,
      run: (item) =>
        apply(item, (id) => inbox.retry(id), [
          item.outcome.word === 'dead'
            ? 'The delivery waits again, with its full number of attempts.'
            : 'The delivery is due now.',
          'The delivery was not retried',
        ]),
    },
    {
      name: 'discard',
      label: 'Discard',
      isAvailable: isChangeable,
      question: ({ outcome: { word } }) =>
        `Discard this ${word === 'dead' ? 'dead letter' : 'waiting delivery'}? It cannot be restored, and the inbox no longer recognizes it as a duplicate.`,
      run: (item) =>
        apply(item, (id) => inbox.discard(id), [
          `The delivery ${item.id} is discarded.`,
          'The delivery was not discarded',
        ]),
    },
  ]
}

function describeState(state: string | undefined): string {
  if (state === undefined) return 'it is no longer in the inbox'
  return state === 'active' ? 'it is being handled now' : `it is ${state}`
}
