import { configInvalid } from '../../../errors.ts'
import { html } from '../../../inspector/html/template.ts'
import type { Panel } from '../../../inspector/source.ts'
import type { Clock } from '../../clock/clock.ts'

/** A manual or a running clock. */
export interface AdvancingClock extends Clock {
  advance(milliseconds: number): Promise<void>
}

export const canAdvance = (clock: Clock): clock is AdvancingClock =>
  typeof (clock as Partial<AdvancingClock>).advance === 'function'

const UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])
const MAX_DURATION = 366 * 86_400_000

/** @throws {WebhookError} `config_invalid` */
export function readDuration(text: string): number {
  const [, digits, unit = ''] = /^\s*(\d{1,12})\s*(ms|s|m|h|d)\s*$/i.exec(text) ?? []
  const milliseconds = Number(digits) * (UNITS.get(unit.toLowerCase()) ?? Number.NaN)
  if (milliseconds <= MAX_DURATION) return milliseconds
  throw configInvalid('the duration must be a number with a unit, such as 90s, 5m, 1h or 2d; at most 366d')
}

/** The clock of the service, which the user can advance. */
export const createClockPanel = (clock: AdvancingClock): Panel => ({
  name: 'clock',
  title: 'Clock',
  summary: async () => `${isoNow(clock).slice(11, 19)} UTC`,
  render: async () =>
    html`<p>The clock of the service shows <strong>${isoNow(clock)}</strong>. Windows, retries and tokens follow it.</p>`,
  actions: [
    {
      name: 'advance',
      label: 'Advance',
      fields: () => [
        {
          name: 'duration',
          label: 'Duration',
          value: '1m',
          choices: ['30s', '90s', '5m', '1h', '1d'].map((text) => [text, text] as const),
          hint: 'For example 90s, 5m, 1h or 2d. Windows close and retries are made as if the time had passed.',
          isRequired: true,
        },
      ],
      async run(_entry, { duration = '' }) {
        await clock.advance(readDuration(duration))
        return { message: `The clock shows ${isoNow(clock)}.` }
      },
    },
  ],
})

/** A clock of the user's own may show any number. */
function isoNow(clock: Clock): string {
  const now = new Date(clock.now())
  return Number.isNaN(now.getTime()) ? 'an invalid time' : now.toISOString()
}
