import { type ErrorRequestHandler, type RequestHandler, Router, raw } from 'express'
import { readChanges } from '../edit-parameters.ts'
import { type Parameters, readParameters, single } from '../form.ts'
import { AdminError, answer, answerError, readFormat } from '../formats.ts'
import { type Service, servicePath } from '../services.ts'
import type { Webhook, WebhookStore } from '../webhooks.ts'

/** What an operation works on. */
interface Operation {
  service: Service
  webhook: Webhook
  parameters: Parameters
}

const MAX_BODY = '1mb'

/** `edit` and `delete`, below `/services/[folder/]<serviceName>.<serviceType>/webhooks/<id>` (specification, "Endpoints"). */
export function administration(services: readonly Service[], webhooks: WebhookStore): Router {
  const operations = new Map<string, (operation: Operation) => object>([
    ['edit', ({ service, webhook, parameters }) => edit(webhooks, service, webhook, parameters)],
    [
      'delete',
      ({ webhook }) => {
        webhooks.delete(webhook.id)
        return { status: 'success' }
      },
    ],
  ])

  const operate: RequestHandler<Record<string, string>> = (req, res) => {
    if (req.method !== 'POST') throw new AdminError(405, 'use POST')
    const parameters = readParameters(req.body)
    const indent = readFormat(single(parameters, 'f') ?? queryFormat(req.query.f))
    const { folder = '', service: path = '', id = '', operation = '' } = req.params
    const service = services.find(
      (candidate) => servicePath(candidate) === (folder ? `${folder}/${path}` : path),
    )
    if (!service) throw new AdminError(404, 'there is no such service')
    const webhook = webhooks.find(service, id)
    if (!webhook) throw new AdminError(404, 'there is no such webhook')
    const run = operations.get(operation)
    if (!run) throw new AdminError(404, 'there is no such operation')
    answer(res, run({ service, webhook, parameters }), indent)
  }

  const router = Router()
  router.use(requireForm, raw({ type: () => true, limit: MAX_BODY }))
  for (const folder of ['', '/:folder']) {
    router.all(`/services${folder}/:service/webhooks/:id/:operation`, operate)
  }
  router.use(() => {
    throw new AdminError(404, 'there is nothing here')
  })
  router.use(onError)
  return router
}

function edit(webhooks: WebhookStore, service: Service, webhook: Webhook, parameters: Parameters): object {
  const changes = readChanges(parameters, service.serviceType)
  const taken = webhooks.list(service).some((other) => other.name === changes.name && other.id !== webhook.id)
  if (taken) throw new AdminError(400, 'name is taken by another webhook of this service')
  return { ...webhooks.edit(webhook.id, changes), status: 'success' }
}

/** Parameters come as a form (specification, "Endpoints"); an operation without any may come without a body. */
const requireForm: RequestHandler = (req, _res, next) => {
  const type = req.headers['content-type']
  if (type !== undefined && !req.is('application/x-www-form-urlencoded')) {
    const hasBody =
      req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
    if (hasBody) throw new AdminError(415, 'parameters must be sent as application/x-www-form-urlencoded')
  }
  next()
}

const queryFormat = (f: unknown): string | undefined => (f === undefined ? undefined : String(f))

const onError: ErrorRequestHandler = (error, _req, res, _next) => {
  answerError(res, error instanceof AdminError ? error : toAdminError(error))
}

/** What body parsing and routing throw bears a status; anything else is a fault of the mock. */
function toAdminError({ status, message }: { status?: number; message?: string }): AdminError {
  if (status !== undefined && status >= 400 && status < 500)
    return new AdminError(status, message ?? 'bad request')
  return new AdminError(500, 'internal error')
}
