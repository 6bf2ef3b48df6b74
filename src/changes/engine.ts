import { type CatchUp, startCatchUp } from './catch-up/catch-up.ts'
import { type CopyService, copyService } from './catch-up/copy-service.ts'
import type { CatchUpOptions } from './catch-up/options.ts'
import type { LayerTracking } from './catch-up/tracking.ts'
import { type ChangesContext, createRemember } from './context.ts'
import { openAttachment } from './download.ts'
import { ChangesError, showUrl } from './errors.ts'
import { createClient, type ServiceDescription } from './extract.ts'
import { hideInError } from './failures.ts'
import type { ChangesInbox, Settings } from './options.ts'
import { readRequests, type ServiceRequest } from './requests.ts'
import { type Run, runWithin } from './run.ts'
import { extractService } from './service-changes.ts'
import type { Attachment, Changes, ChangesSource } from './types.ts'
import { abortable } from './wait.ts'

/** The part of a client that is loaded when it is used for the first time. */
export interface Engine {
  of(source: ChangesSource, context: ChangesContext | undefined): Promise<Changes>
  download(attachment: Attachment, signal: AbortSignal | undefined): Promise<ReadableStream<Uint8Array>>
  catchUp(options: CatchUpOptions): CatchUp
  resync(service: string, copy: CopyService, signal: AbortSignal | undefined): Promise<void>
}

export function createEngine(settings: Settings): Engine {
  const client = createClient(settings.connection)
  const remember = createRemember<Changes>()

  /** Hides the tokens of the client in errors. */
  const safely = <Result>(run: () => Promise<Result>): Promise<Result> =>
    run().catch((error: unknown) => {
      throw hideInError(error, settings.connection.tokens)
    })

  async function extractAll(
    requests: readonly ServiceRequest[],
    run: Run,
    context: ChangesContext | undefined,
  ): Promise<Changes> {
    const all: Changes = { layers: [], layerServerGens: [] }
    // If a later service fails, the changes of an earlier one are not handed over, so its generations must not be raised.
    const functions: (() => unknown)[] = []
    const collect = { onSuccess: (raise: () => unknown) => void functions.push(raise) }
    // One service after another, because the changes of each can be a large document.
    for (const request of requests) {
      const { layers, layerServerGens } = await extractService(request, {
        client,
        settings,
        run,
        context: collect,
      })
      // `push(...layers)` would exceed the stack with long lists.
      all.layers = all.layers.concat(layers)
      all.layerServerGens = all.layerServerGens.concat(layerServerGens)
    }
    for (const raise of functions) context?.onSuccess?.(raise)
    return all
  }

  async function track(service: string, signal: AbortSignal): Promise<LayerTracking[]> {
    const describe = (run: Run): Promise<ServiceDescription> => client.describeService(service, run)
    return safely(async () => toTracking(service, await runWithin(settings.timeout, signal, describe)))
  }

  /** `catchUp` and `resync` of the client require an inbox before they use this. */
  const parts = { inbox: settings.inbox as ChangesInbox, track }

  return {
    of: (source, context) =>
      safely(async () => {
        const requests = readRequests(source, settings.connection.origins)
        return remember(context, keyOf(requests), () =>
          runWithin(settings.timeout, context?.signal, (run) => extractAll(requests, run, context)),
        )
      }),
    download: (attachment, signal) =>
      safely(() => openAttachment(attachment, settings.connection, settings.timeout, signal)),
    catchUp: (options) => startCatchUp(parts, options),
    resync: (service, copy, signal = new AbortController().signal) =>
      abortable(copyService(parts, service, { reason: 'requested', signal }, copy), signal),
  }
}

const keyOf = (requests: readonly ServiceRequest[]): string =>
  JSON.stringify(requests.map((request) => ({ ...request, parameters: [...request.parameters].sort() })))

/** @throws {WebhookError} `changes_failed` if the service does not track changes */
function toTracking(service: string, { layerServerGens }: ServiceDescription): LayerTracking[] {
  if (layerServerGens.length === 0)
    throw new ChangesError('changes_failed', {
      message: `${showUrl(service)} does not track changes`,
      hint: 'Enable change tracking: the capabilities of the service must contain ChangeTracking.',
    })
  return layerServerGens.map(({ id, serverGen, minServerGen = Math.min(0, serverGen) }) => ({
    id,
    serverGen,
    minServerGen,
  }))
}
