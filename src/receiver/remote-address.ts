type Socket = { socket?: { remoteAddress?: unknown } | undefined } | undefined
type DenoInfo = { remoteAddr?: { hostname?: unknown } | undefined } | undefined
type BunServer = { requestIP?(request: object): { address?: unknown } | null } | undefined

/** What servers attach to a web request (srvx, which h3 uses), or pass with it. */
interface Runtime {
  node?: { req?: Socket }
  deno?: { info?: DenoInfo }
  bun?: { server?: BunServer }
}

/**
 * Returns the address of the peer that sent a web request, or undefined if the platform does not know it. Never reads
 * headers such as `x-forwarded-for`, which anyone can send.
 *
 * @param server what the server passes with the request: Node's request as `incoming` (@hono/node-server), the info of
 *   `Deno.serve`, or the server of `Bun.serve`. Other values are ignored
 */
export function remoteAddressOf(request: object, server: unknown): string | undefined {
  try {
    const { node, deno, bun } = (request as { runtime?: Runtime }).runtime ?? {}
    const given = (server ?? {}) as { incoming?: Socket } & DenoInfo & BunServer
    const address =
      (node?.req ?? given.incoming)?.socket?.remoteAddress ??
      (deno?.info ?? given).remoteAddr?.hostname ??
      (bun?.server ?? given).requestIP?.(request)?.address
    return typeof address === 'string' ? address : undefined
  } catch {
    return undefined // an unrelated value with such a member
  }
}
