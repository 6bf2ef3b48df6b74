import { type Request, type Response, Router } from 'express'
import { ANONYMOUS, identify } from '../admin/authorize.ts'
import { readMethod, splitUrl } from '../admin/read-request.ts'
import { initialFormat, readFormat } from '../admin/response-format.ts'
import { refuseOtherOrigins } from '../http/browser-guard.ts'
import { AdminError, toAdminError, waitForSave } from '../http/errors.ts'
import { type BodyOptions, type Format, rootOf, sendBody } from '../http/response.ts'
import { servicePath } from '../state/services.ts'
import type { FeatureAnswer, FeatureCall, FeatureContext } from './operation.ts'
import { FEATURE_OPERATIONS } from './operations.ts'
import { type FeatureMatch, type FeaturePath, matchFeaturePath, parseFeaturePath } from './paths.ts'
import { readFeatureRequest } from './read-request.ts'

/** Handles the operations of feature services, and passes every other request on. */
export function featureRouter(context: FeatureContext, hasInspector: boolean): Router {
  return Router().use(async (req, res, next) => {
    const { path, query } = splitUrl(req.url)
    const place = parseFeaturePath(path)
    const match = place && matchFeaturePath(FEATURE_OPERATIONS, place)
    if (!match) return next()
    const format = { current: initialFormat(req, query) }
    const panel = hasInspector ? `${rootOf(path)}features` : undefined
    try {
      const answer = await answerRequest(context, req, res, { place, match, query, format })
      if ('send' in answer) answer.send(res)
      else sendBody(res, format.current, answer.body, { panel })
    } catch (error) {
      sendFailure(res, format.current, error, { panel })
    }
  })
}

interface Addressed {
  place: FeaturePath
  match: FeatureMatch
  query: string
  /** Set as soon as it is known, so that errors have it too. */
  format: { current: Format }
}

async function answerRequest(
  context: FeatureContext,
  req: Request,
  res: Response,
  { place, match: { operation, path }, query, format }: Addressed,
): Promise<FeatureAnswer> {
  refuseOtherOrigins(req.headers)
  const method = readMethod(req, res, operation)
  const { parameters, files } = await readFeatureRequest(req, res, method, query)
  format.current = readFormat(parameters) ?? format.current
  const user = operation.isOpen?.(parameters) ? ANONYMOUS : await identify(context, parameters, req.headers)
  const service = context.state.services.find(servicePath({ ...place, serviceType: 'FeatureServer' }))
  if (!service) throw new AdminError(404, 'the service does not exist')
  const data = context.state.features.of(service)
  const serviceUrl = `${originOf(req)}${req.baseUrl}${place.servicePath}`
  const call: FeatureCall = { context, service, data, user, method, parameters, files, path, serviceUrl }
  const answer = await operation.run(call)
  if ('send' in answer) return answer
  // Before the save: the change is made, even if it cannot be saved.
  if (answer.events && answer.events.length > 0) context.publish(service, answer.events)
  if (answer.changed) await waitForSave(context.save)
  return answer
}

/**
 * Sends an error as these services do: the HTTP status is 200, and the code is in the body. Clients of the vendor lose
 * the message of an error with another status. Only a wrong method has its own status, 405.
 */
function sendFailure(res: Response, format: Format, thrown: unknown, options: BodyOptions): void {
  const { status: code, messages } = toAdminError(thrown)
  const [message = '', ...details] = messages
  sendBody(
    res,
    format,
    { error: { code, message, details } },
    { ...options, status: code === 405 ? 405 : 200 },
  )
}

const originOf = ({ protocol, headers }: Request): string => `${protocol}://${headers.host ?? 'localhost'}`
