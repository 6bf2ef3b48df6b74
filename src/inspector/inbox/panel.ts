import type { InboxState, InboxStats, PurgeOptions } from '../../inbox/durable-inbox.ts'
import { toDuration } from '../../shared/words.ts'
import { deliveryPath } from '../html/page.ts'
import { type Html, html, renderFacts, renderTable, toCount } from '../html/template.ts'
import type { Panel, PanelAction, PanelTools } from '../source.ts'
import { type Store, toHeadline } from './item.ts'

/** The panel of an inbox: counts, ages, rates, and the errors of dead letters. */
export function createInboxPanel(inbox: Store, samples: Samples): Panel {
  async function readStats(): Promise<InboxStats> {
    const stats = await inbox.stats()
    samples.add(stats)
    return stats
  }
  return {
    name: 'inbox',
    title: 'Inbox',
    actions: createPanelActions(inbox),
    async summary() {
      const { waiting, active, dead, unhandled, paused } = await readStats()
      const rest = `${unhandled > 0 ? `, ${number(unhandled)} unhandled` : ''}${paused ? ', workers paused' : ''}`
      return `${number(waiting + active)} pending, ${number(dead)} dead${rest}`
    },
    async render(tools) {
      const stats = await readStats()
      return html`${renderStats(stats, tools)}${renderRates(samples)}${await renderErrors(inbox, stats.dead, tools)}`
    },
  }
}

const number = (value: number): string => value.toLocaleString('en')

function renderStats(stats: InboxStats, { button }: PanelTools): Html {
  const { waiting, active, done, dead, unhandled, maxPending, oldest, paused, concurrency } = stats
  const pending = waiting + active
  // `geohook inbox ui` does not know the limit of the process that receives deliveries.
  const isLimited = Number.isFinite(maxPending)
  const share = Math.min(100, Math.floor((pending / maxPending) * 100))
  const badCount = (count: number) =>
    count > 0 ? html`<span class="outcome bad">${number(count)}</span>` : '0'
  return renderFacts([
    ['Waiting', number(waiting)],
    ['Active', number(active)],
    ['Done', number(done)],
    ['Dead letters', badCount(dead)],
    ['Unhandled', badCount(unhandled)],
    [
      'Pending',
      isLimited ? `${number(pending)} of at most ${number(maxPending)}: ${share} % full` : number(pending),
    ],
    ['Oldest waiting', oldest ? `received ${toDuration(Date.now() - +oldest)} ago` : 'none'],
    [
      'Workers',
      // Inboxes of older builds do not have it.
      paused === undefined
        ? undefined
        : paused
          ? html`<span class="outcome bad">paused</span> ${button('resume')}`
          : html`take deliveries ${button('pause')}`,
    ],
    ['Concurrency', concurrency?.toString()],
  ])
}

function renderRates(samples: Samples): Html {
  if (samples.span < 1000) return html`<p>Rates appear as soon as the page has been open for a second.</p>`
  const text = (name: 'total' | 'done' | 'dead'): string => {
    const rate = samples.perMinute(name)
    return `${rate.toFixed(rate > 0 && rate < 10 ? 1 : 0)} per minute`
  }
  return html`<h3>Rates in the last ${toDuration(Math.max(2000, samples.span))}</h3>
${renderFacts([
  ['Arriving', text('total')],
  ['Handled', text('done')],
  ['Becoming dead', text('dead')],
])}`
}

async function renderErrors(inbox: Store, dead: number, { href }: PanelTools): Promise<Html> {
  const { errors, read } = await countErrors(inbox, dead)
  if (errors.length === 0)
    return html`<h3>Errors of dead letters</h3>
<p>There are no dead letters.</p>`
  return html`<h3>Errors of ${read < dead ? `the newest ${number(read)} of ${number(dead)} ` : ''}dead letters</h3>
${renderTable(
  ['Error', 'Dead letters', 'First', 'Last'],
  errors.map(({ error, count, first, last, id }) => [
    html`<a href="${href(deliveryPath(id))}"><code>${error}</code></a>`,
    number(count),
    age(first),
    age(last),
  ]),
)}`
}

const age = (time: Date): string => `${toDuration(Date.now() - +time)} ago`

/** Actions on all deliveries of a state. Each asks first, and says how many deliveries it is about. */
function createPanelActions(inbox: Store): PanelAction[] {
  return [
    retry('dead', 'Retry dead letters', ', each with its full number of attempts'),
    // Uses purge(), because discard() would also remove a dead letter that another process has just retried.
    purge('dead', 'discard-dead', 'Discard all dead letters'),
    retry('unhandled', 'Retry unhandled deliveries'),
    purge('unhandled', 'discard-unhandled', 'Discard all unhandled deliveries'),
    purge('done', 'purge-done', 'Remove done deliveries'),
    ...createPauseActions(inbox),
  ]

  async function describeAll(state: EndState): Promise<string> {
    return describe((await inbox.stats())[state], state)
  }

  function retry(state: 'dead' | 'unhandled', label: string, detail = ''): PanelAction {
    return {
      name: `retry-${state}`,
      label,
      question: async () => `Retry ${await describeAll(state)}${detail}?`,
      run: async () => ({ message: `Retried ${describe(await inbox.retry({ state }), state)}.` }),
    }
  }

  function purge(state: EndState, name: string, label: string): PanelAction {
    const [verb, past] = state === 'done' ? ['Remove', 'Removed'] : ['Discard', 'Discarded']
    return {
      name,
      label,
      question: async () =>
        `${verb} ${await describeAll(state)}? This cannot be undone, and the inbox then no longer recognizes duplicates of them.`,
      run: async () => ({ message: `${past} ${describe(await inbox.purge({ state }), state)}.` }),
    }
  }
}

/** Actions whose buttons the content renders. */
function createPauseActions({ pause, resume }: Store): PanelAction[] {
  if (!pause || !resume) return []
  return [
    {
      name: 'pause',
      label: 'Pause workers',
      isOnEntry: true,
      question: () => 'Keep the workers of all processes from taking deliveries, until you resume?',
      run: async () => pause().then(() => ({ message: 'The inbox is paused.' })),
    },
    {
      name: 'resume',
      label: 'Resume workers',
      isOnEntry: true,
      run: async () => resume().then(() => ({ message: 'The workers take deliveries again.' })),
    },
  ]
}

type EndState = PurgeOptions['state']

const describe = (count: number, state: EndState): string =>
  state === 'dead'
    ? toCount(count, 'dead letter')
    : toCount(count, `${state} delivery`, `${state} deliveries`)

const PAGE_SIZE = 1_000
const MAX_ERRORS = 10

/** An error with the dead letters that have it. */
interface DeadLetterError {
  error: string
  count: number
  /** When the first and the last of these deliveries became a dead letter. */
  first: Date
  last: Date
  /** Id of the last one. */
  id: string
}

/**
 * Counts the errors of the newest 1,000 dead letters, the most frequent first.
 *
 * @param dead number of dead letters
 */
async function countErrors(inbox: Store, dead: number): Promise<{ errors: DeadLetterError[]; read: number }> {
  if (dead === 0) return { errors: [], read: 0 }
  const { entries } = await inbox.list({ state: 'dead', limit: PAGE_SIZE, order: 'newest' })
  const errors = new Map<string, DeadLetterError>()
  for (const { id, error = 'no error text', endedAt, receivedAt } of entries) {
    const time = endedAt ?? receivedAt
    const headline = toHeadline(error)
    const known = errors.get(headline)
    if (!known) errors.set(headline, { error: headline, count: 1, first: time, last: time, id })
    else {
      known.count++
      if (time < known.first) known.first = time
      if (time >= known.last) Object.assign(known, { last: time, id })
    }
  }
  const sorted = [...errors.values()].sort((a, b) => b.count - a.count)
  return { errors: sorted.slice(0, MAX_ERRORS), read: entries.length }
}

/** The counts of an inbox at one time. */
interface Sample {
  time: number
  done: number
  dead: number
  total: number
}

const MAX_AGE = 10 * 60_000
/** Samples that follow sooner replace the last one. */
const MIN_DISTANCE = 500

/** Recent counts of an inbox, oldest first. They are taken only while a page is open, or when one is loaded. */
export class Samples {
  #all: Sample[] = []

  add(stats: InboxStats): void {
    const time = Date.now()
    const { done, dead } = stats
    const [last, previous] = [this.#all.at(-1), this.#all.at(-2)]
    // The second sample is kept, so that the first loads of a page can already give a rate.
    if (last && previous && last.time - previous.time < MIN_DISTANCE) this.#all.pop()
    this.#all.push({ time, done, dead, total: sumOf(stats) })
    this.#all = this.#all.filter((kept) => time - kept.time <= MAX_AGE)
  }

  /** Milliseconds that the samples cover. */
  get span(): number {
    return (this.#all.at(-1)?.time ?? 0) - (this.#all[0]?.time ?? 0)
  }

  /** Only increases count: removing deliveries, or retrying dead letters, makes the counts smaller. */
  perMinute(name: 'total' | 'done' | 'dead'): number {
    let sum = 0
    let before: number | undefined
    for (const { [name]: count } of this.#all) {
      sum += Math.max(0, count - (before ?? count))
      before = count
    }
    return sum / (this.span / 60_000)
  }
}

/** For each state, a number of deliveries. */
export type Counts = Readonly<Record<InboxState, number>>

const sumOf = (counts: Counts): number => STATES.reduce((sum, state) => sum + counts[state], 0)

/** The states in the order in which a cursor lists them. */
export const STATES: readonly InboxState[] = ['waiting', 'active', 'done', 'dead', 'unhandled']
