/** A value or a promise of it: Node computes digests synchronously, other platforms do not. */
export type Awaitable<Value> = Value | Promise<Value>
