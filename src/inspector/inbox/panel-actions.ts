import type { DurableInbox } from '../../inbox/durable-inbox.ts'
import type { Done, PanelAction } from '../action.ts'
import { toCount } from '../html/units.ts'
import { MAX_RETRIED, retryDeadLetters } from './dead-letters.ts'
import { toStoreError } from './store-errors.ts'

/** Actions on all deliveries of a state. Each asks first, and says how many deliveries it is about. */
export function createPanelActions(inbox: DurableInbox): PanelAction[] {
  const countOf = async (state: 'done' | 'dead'): Promise<number> => (await inbox.stats())[state]

  const actions: PanelAction[] = [
    {
      name: 'retry-dead',
      label: 'Retry dead letters',
      async question() {
        const dead = await countOf('dead')
        const rest = dead > MAX_RETRIED ? ` The oldest ${toText(MAX_RETRIED)} are retried at once.` : ''
        return `Retry ${countLetters(dead)}, each with its full number of attempts?${rest}`
      },
      async run() {
        const retried = await retryDeadLetters(inbox)
        if (retried === 0) return { message: 'There were no dead letters to retry.' }
        const dead = await countOf('dead')
        return {
          message: `Retried ${countLetters(retried)}${dead > 0 ? `; ${countLetters(dead)} remain or are new` : ''}.`,
        }
      },
    },
    {
      name: 'discard-dead',
      label: 'Discard all dead letters',
      question: async () =>
        `Discard ${countLetters(await countOf('dead'))}? This cannot be undone, and the inbox then no longer recognizes duplicates of them.`,
      // Uses purge(), because discard() would also remove a dead letter that another process has just retried.
      run: async () => toDone(await inbox.purge({ state: 'dead' }), countLetters, 'Discarded'),
    },
    {
      name: 'purge-done',
      label: 'Remove done deliveries',
      question: async () =>
        `Remove ${countDone(await countOf('done'))}? The inbox then no longer recognizes duplicates of them.`,
      run: async () => toDone(await inbox.purge({ state: 'done' }), countDone, 'Removed'),
    },
  ]
  return actions.map(withStoreErrors)
}

const toDone = (removed: number, count: (number: number) => string, verb: string): Done => ({
  message: `${verb} ${count(removed)}.`,
})

const toText = (number: number): string => number.toLocaleString('en')
const countLetters = (number: number): string => toCount(number, 'dead letter')
const countDone = (number: number): string => toCount(number, 'done delivery', 'done deliveries')

const withStoreErrors = ({ question, run, ...action }: PanelAction): PanelAction => ({
  ...action,
  ...(question && {
    async question(entry: string) {
      try {
        return await question(entry)
      } catch (error) {
        throw toStoreError(error)
      }
    },
  }),
  async run(entry, values) {
    try {
      return await run(entry, values)
    } catch (error) {
      throw toStoreError(error)
    }
  },
})
