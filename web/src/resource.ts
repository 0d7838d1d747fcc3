/** What a view shows of the API: asked for when its inputs change, and again when the server or the key is back. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiError, reachable } from "./api/client";
import { key } from "./session";

export interface Resource<T> {
  data: T | undefined;
  error: ApiError | undefined;
  loading: boolean;
  reload: () => void;
}

export function useResource<T>(ask: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Resource<T> {
  const [state, setState] = useState<{ data?: T; error?: ApiError; loading: boolean }>({ loading: true });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((t) => t + 1), []);
  useReturn(state.error, reload);
  useEffect(() => {
    const control = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    ask(control.signal).then(
      (data) => !control.signal.aborted && setState({ data, loading: false }),
      (error: unknown) => {
        if (!control.signal.aborted) setState({ error: asApiError(error), loading: false });
      },
    );
    return () => control.abort();
  }, [...inputs, turn, key.value]);
  return { data: state.data, error: state.error, loading: state.loading, reload };
}

/** What was asked for without a server is asked for again when it is back. */
export function useReturn(error: ApiError | undefined, again: () => void): void {
  const back = error?.status === 0 && reachable.value;
  useEffect(() => {
    if (back) again();
  }, [back]);
}

const NARROW = matchMedia("(max-width: 52rem)");

/** Whether the window is narrow, as the style sheets have it. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const change = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", change);
    return () => NARROW.removeEventListener("change", change);
  }, []);
  return narrow;
}

export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(-1, "page", error instanceof Error ? error.message : String(error));
}
