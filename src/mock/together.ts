/** What all of them come to, in one list. Most often there is only one: then it is that. */
export const together = <T>(works: readonly Promise<T[]>[]): Promise<T[]> =>
  works.length === 1 ? (works[0] as Promise<T[]>) : Promise.all(works).then((lists) => lists.flat())
