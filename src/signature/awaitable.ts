/** What is there, or a promise of it: Node computes a digest at once, other platforms only later. */
export type Awaitable<Value> = Value | Promise<Value>

/** Goes on at once with what is there. `await` would cost each of its many small steps a promise. */
export function when<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** All of them: at once where the first is there, because one platform makes them all. */
export const all = <Value>(values: readonly Awaitable<Value>[]): Awaitable<readonly Value[]> =>
  values[0] instanceof Promise ? Promise.all(values) : (values as readonly Value[])
