import type { FilterChoices, Row, Source } from '../../inspector/source.ts'
import type { Mock } from '../service.ts'
import { servicePath } from '../state/services.ts'
import { has } from '../versions.ts'
import { createActions } from './actions.ts'
import { createRunOperation } from './administration.ts'
import { findDelivery, listDeliveries, OUTCOMES, toRow } from './deliveries.ts'
import { toItem } from './item.ts'
import { canAdvance, createClockPanel } from './panels/clock.ts'
import { createFaultsPanel } from './panels/faults.ts'
import { createFeaturesPanel } from './panels/features.ts'
import { createSettingsPanel } from './panels/settings.ts'
import { createTriggerPanel } from './panels/trigger.ts'
import { createWebhooksPanel } from './panels/webhooks.ts'
import { redactAll } from './redact.ts'

/**
 * The deliveries of a mock service for the inspector.
 *
 * @param urlOf returns the base URL; empty while the service does not listen
 */
export function createMockSource(mock: Mock, urlOf: () => string): Source {
  const { clock, version } = mock.options
  const runOperation = createRunOperation(mock)

  return {
    get title() {
      return ['geohook mock', urlOf().replace('http://', '')].filter(Boolean).join(' ')
    },
    filters: async () => filtersOf(mock),
    // The log has no more than a page of attempts.
    async list() {
      return { rows: rowsOf(mock) }
    },
    async get(id) {
      const attempts = findDelivery(mock, id)
      return attempts && toItem(mock, attempts)
    },
    actions: createActions(mock),
    panels: [
      createWebhooksPanel(mock, runOperation),
      createTriggerPanel(mock),
      createFeaturesPanel(mock),
      createFaultsPanel(mock),
      ...(has(version, 'failures') ? [createSettingsPanel(mock, runOperation)] : []),
      ...(canAdvance(clock) ? [createClockPanel(clock)] : []),
    ],
    async clear() {
      mock.engine.log.clear()
    },
    on: (listener) => mock.changes.on((id) => listener(id === undefined ? undefined : [id])),
  }
}

function rowsOf(mock: Mock): Row[] {
  const redactor = redactAll(mock)
  return listDeliveries(mock).map((attempts) => toRow(mock, attempts, redactor))
}

function filtersOf(mock: Mock): FilterChoices {
  const rows = rowsOf(mock)
  const { services, webhooks } = mock.state
  const sorted = (values: readonly (string | undefined)[]): string[] =>
    [...new Set(values)]
      .filter((value) => value !== undefined)
      .sort()
      .slice(0, MAX_CHOICES)
  return {
    services: sorted([...services.list().map(servicePath), ...rows.map(({ service }) => service)]),
    webhooks: sorted([...webhooks.list().map(({ name }) => name), ...rows.map(({ webhook }) => webhook)]),
    changeTypes: sorted(rows.flatMap(({ changeTypes }) => changeTypes)),
    outcomes: Object.values(OUTCOMES),
  }
}

/** Longer lists would make every page large; the filter for text finds the others. */
const MAX_CHOICES = 200
