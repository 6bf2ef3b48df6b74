import type { InboxErrors, InboxState, InboxStats, PurgeOptions } from '../../inbox/durable-inbox.ts'
import { STATES } from '../../inbox/stored-row.ts'
import { toDuration, toFindable } from '../../shared/words.ts'
import { deliveryPath } from '../html/page.ts'
import { type Html, html, renderFacts, renderTable, toCount } from '../html/template.ts'
import type { Panel, PanelAction, PanelTools } from '../source.ts'
import { redactor, type Store } from './item.ts'

/** The panel of an inbox: the errors of dead letters, counts, ages and rates. */
export function createInboxPanel(inbox: Store, samples: Samples): Panel {
  async function readStats(): Promise<InboxStats> {
    const stats = await inbox.stats()
    samples.add(stats)
    return stats
  }
  /** The last result, and until when it is shown, because open pages ask every second. */
  let known: { errors: InboxErrors | undefined; until: number } | undefined
  async function readErrors(dead: number): Promise<InboxErrors | undefined> {
    const started = performance.now()
    if (known && started < known.until) return known.errors
    const errors = dead === 0 ? undefined : await inbox.errors?.()
    const now = performance.now()
    known = { errors, until: now + (now - started) * 20 }
    return errors
  }
  return {
    name: 'inbox',
    title: 'Inbox',
    actions: createPanelActions(inbox).map((action) => ({
      ...action,
      run: (...given) => action.run(...given).finally(() => (known = undefined)),
    })),
    async summary() {
      const { waiting, active, dead, unhandled, paused } = await readStats()
      const rest = `${unhandled > 0 ? `, ${number(unhandled)} unhandled` : ''}${paused ? ', workers paused' : ''}`
      return `${number(waiting + active)} pending, ${number(dead)} dead${rest}`
    },
    async render(tools) {
      const stats = await readStats()
      const errors = await readErrors(stats.dead)
      return html`${errors?.groups[0] && renderErrors(errors, stats.dead, tools)}${renderStats(stats, tools)}${renderRates(samples)}`
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

/** Most frequent errors that the panel shows. */
const MAX_ERRORS = 20

function renderErrors({ groups, examined }: InboxErrors, dead: number, { href, button }: PanelTools): Html {
  const shown = groups.slice(0, MAX_ERRORS)
  const rows = shown.map(({ error, count, first, last, id }) => {
    const filter = toFindable(error, redactor.text)
    const title = html`<code>${redactor.text(error) || 'no error text'}</code>`
    return [
      html`<a href="${href(deliveryPath(id))}">${title}</a>`,
      // The script opens links to a part of a page as a new page, so that the list and its filters change too.
      filter === ''
        ? number(count)
        : html`<a href="${href('/', { error: filter })}#list">${number(count)}</a>`,
      age(first),
      age(last),
      filter === '' ? '' : html`${button('retry-error', filter)} ${button('discard-error', filter)}`,
    ]
  })
  const newest = examined < dead ? `the newest ${number(examined)} ` : ''
  const more = groups.length > shown.length ? html`<p>There are further errors.</p>` : ''
  return html`<h3>Errors of ${newest}dead letters</h3>
${renderTable(['Error', 'Dead letters', 'First', 'Last', ''], rows)}
${more}`
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
    ...createErrorActions(inbox),
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
      question: async () => `${verb} ${await describeAll(state)}? ${FORGETS}`,
      run: async () => ({ message: `${past} ${describe(await inbox.purge({ state }), state)}.` }),
    }
  }
}

/** Actions on the dead letters with an error, which is the entry. */
function createErrorActions(inbox: Store): PanelAction[] {
  const { errors } = inbox
  // An inbox without it may not know the condition, and change all dead letters.
  if (!errors) return []

  /** Another error can contain this one, also one that is in no group. */
  async function describeAll(error: string): Promise<string> {
    const [{ groups = [] } = {}, { dead }] = await Promise.all([errors?.(), inbox.stats()])
    const total = (some: typeof groups): number => some.reduce((sum, { count }) => sum + count, 0)
    const number = total(groups.filter((group) => group.error.includes(error)))
    return `${total(groups) < dead ? 'at least ' : ''}${describe(number, 'dead')} with “${error}”`
  }
  return [
    {
      name: 'retry-error',
      label: 'Retry these',
      isOnEntry: true,
      question: async (error) => `Retry ${await describeAll(error)}, each with its full number of attempts?`,
      run: async (error) => ({
        message: `Retried ${describe(await inbox.retry({ state: 'dead', error }), 'dead')}.`,
      }),
    },
    {
      name: 'discard-error',
      label: 'Discard these',
      isOnEntry: true,
      question: async (error) => `Discard ${await describeAll(error)}? ${FORGETS}`,
      run: async (error) => ({
        message: `Discarded ${describe(await inbox.purge({ state: 'dead', error }), 'dead')}.`,
      }),
    },
  ]
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

const FORGETS = 'This cannot be undone, and the inbox then no longer recognizes duplicates of them.'

type EndState = PurgeOptions['state']

const describe = (count: number, state: EndState): string =>
  state === 'dead'
    ? toCount(count, 'dead letter')
    : toCount(count, `${state} delivery`, `${state} deliveries`)

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
