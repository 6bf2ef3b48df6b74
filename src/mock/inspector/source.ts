import { configInvalid } from '../../errors.ts'
import { bodyFields, contentTypeField, readBody, readContentType } from '../../inspector/action.ts'
import { choicesOf } from '../../inspector/list.ts'
import type { Action, Done, Item, Row, Source } from '../../inspector/source.ts'
import { bodyFormat } from '../../payload/parse.ts'
import type { RawRequest } from '../../testing/signer.ts'
import { canAdvance } from '../clock.ts'
import type { AttemptRecord } from '../delivery/attempt.ts'
import { isAllowed } from '../delivery/http-client.ts'
import { HOOK_URL_RULE, isHookUrl } from '../schemas.ts'
import type { Mock } from '../service.ts'
import type { Attempt } from '../state/records.ts'
import { servicePath } from '../state/services.ts'
import type { Webhook } from '../state/webhooks.ts'
import { has } from '../versions.ts'
import {
  findDelivery,
  findSignature,
  lastOf,
  listDeliveries,
  OUTCOMES,
  outcomeOf,
  redactAll,
  toRow,
} from './deliveries.ts'
import { toItem } from './item.ts'
import { createFeaturesPanel } from './panels/features.ts'
import { createClockPanel, createFaultsPanel, createSettingsPanel } from './panels/settings.ts'
import { createWebhooksPanel } from './panels/webhooks.ts'

/** The actions on a delivery. Each makes one attempt and waits for it. */
function createActions(mock: Mock): Action<Item>[] {
  const { engine, options, state } = mock

  function find(id: string): { last: Attempt; record: AttemptRecord } {
    const attempts = findDelivery(mock, id)
    const last = attempts && lastOf(attempts)
    const record = last && engine.log.records.get(last.id)
    if (!record) throw configInvalid('the delivery is no longer in the attempt log')
    return { last, record }
  }

  function toDone(attempt: Attempt): Done {
    const { answer, error = '', deliveryId, hookUrl } = attempt
    const { text: hide } = redactAll(mock)
    const message = answer
      ? `Sent to ${hide(hookUrl)}. The receiver answered ${answer.status}.`
      : `No response from ${hide(hookUrl)}: ${hide(error)}.`
    return { message, ok: outcomeOf(attempt).tone === 'good', delivery: deliveryId }
  }

  /** Signs a body with the key of the webhook. The signature depends on whether the content type is that of a form. */
  async function sign(webhook: Readonly<Webhook>, body: Uint8Array<ArrayBuffer>, contentType: string) {
    const signedAs =
      bodyFormat(contentType) === 'form' ? 'application/x-www-form-urlencoded' : 'application/json'
    const request = await engine.sign({ ...webhook, contentType: signedAs }, body)
    return { ...request, headers: { ...request.headers, 'content-type': contentType } }
  }

  return [
    {
      name: 'resend',
      label: 'Resend',
      run: async ({ id }) => toDone(await engine.redeliver(find(id).last)),
    },
    {
      name: 'edit',
      label: 'Edit and sign',
      question: ({ target }) =>
        `Sends the edited body to ${target}, signed with the current key of the webhook.`,
      fields(item) {
        const attempts = findDelivery(mock, item.id)
        const last = attempts && lastOf(attempts)
        // The signature is added again, so its form field is not part of the body to edit.
        const body = last?.request.body.subarray(0, findSignature(mock, last)?.fieldStart)
        return [...bodyFields({ ...item, request: { ...item.request, body } }), contentTypeField(item)]
      },
      async run({ id }, values) {
        const { webhookId } = find(id).last
        const webhook = state.webhooks.get(webhookId)
        if (!webhook)
          throw configInvalid('the webhook of this delivery was deleted, so there is no key to sign with')
        const contentType = readContentType(values)
        const body = readBody(values)
        const request = await sign(webhook, body, contentType)
        return toDone(
          await engine.sendOnce({ webhook, payload: body, contentType }, webhook.hookUrl, request),
        )
      },
    },
    {
      name: 'replay',
      label: 'Send to another address',
      fields: ({ target }) => [
        {
          name: 'to',
          label: 'Address',
          value: target,
          hint: 'An http or https URL on this machine, or of a host in allowHosts. The same bytes and headers are sent.',
          isRequired: true,
        },
      ],
      async run({ id }, { to = '' }) {
        if (!isHookUrl(to)) throw configInvalid(`the address ${HOOK_URL_RULE}`)
        if (!isAllowed(new URL(to), options.allowHosts))
          throw configInvalid('the host of the address is not on this machine and not in allowHosts')
        const { last, record } = find(id)
        return toDone(await engine.sendOnce(record, to, withoutConnection(last)))
      },
    },
  ]
}

/** The request without the headers that belong to its connection. */
function withoutConnection({ request }: Attempt): RawRequest {
  const { host: _host, 'content-length': _length, ...headers } = request.headers
  return { ...request, headers }
}

/**
 * The deliveries of a mock service for the inspector.
 *
 * @param urlOf returns the base URL; empty while the service does not listen
 */
export function createMockSource(mock: Mock, urlOf: () => string): Source {
  const { clock, version } = mock.options

  return {
    get title() {
      return ['geohook mock', urlOf().replace('http://', '')].filter(Boolean).join(' ')
    },
    filters: async () =>
      choicesOf(rowsOf(mock), {
        service: mock.state.services.list().map(servicePath),
        webhook: mock.state.webhooks.list().map(({ name }) => name),
        outcome: Object.values(OUTCOMES),
      }),
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
      createWebhooksPanel(mock),
      createFeaturesPanel(mock),
      createFaultsPanel(mock),
      ...(has(version, 'failures') ? [createSettingsPanel(mock)] : []),
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
