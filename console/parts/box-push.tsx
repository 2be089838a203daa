import { Button, Stack, TextInput } from "@mantine/core"
import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { responseData, useApi } from "../api/api-client.ts"
import { queryClient } from "../api/query-client.ts"
import { useMe } from "../api/session.ts"
import { ErrorAlert } from "./error-alert.tsx"
import { Section } from "./page-layout.tsx"
import { StatusBadge } from "./status-badge.tsx"
import { TextView } from "./text-view.tsx"

/** Commits the changes in a box and pushes its branch. */
export function BoxPush({ boxId }: { readonly boxId: string }) {
  const { companyId } = useMe()
  const api = useApi()
  const [message, setMessage] = useState("")
  const isEmpty = message.trim() === ""
  const pushing = useMutation({
    mutationFn: () =>
      responseData(
        api.POST("/api/v1/sandboxes/{id}/push", {
          params: { path: { id: boxId } },
          body: { message },
        }),
      ),
    onSettled: () => queryClient.invalidateQueries({ queryKey: [companyId] }),
  })
  return (
    <Section
      title="Push"
      description="Commits all changes in the box to its branch and pushes it, with the checks of any push."
    >
      <Stack
        component="form"
        gap="sm"
        maw={640}
        onSubmit={(event: { preventDefault: () => void }) => {
          event.preventDefault()
          if (!isEmpty) pushing.mutate()
        }}
      >
        <TextInput
          label="Commit message"
          value={message}
          maxLength={2_000}
          onChange={(event) => setMessage(event.currentTarget.value)}
        />
        <Button type="submit" loading={pushing.isPending} disabled={isEmpty} w="fit-content">
          Commit and push
        </Button>
        {pushing.error === null ? null : <ErrorAlert error={pushing.error} />}
        {pushing.data === undefined ? null : (
          <Stack gap="sm" role="status">
            <StatusBadge tone={pushing.data.pushed ? "good" : "busy"}>
              {pushing.data.pushed ? "Pushed" : "Not pushed"}
            </StatusBadge>
            <TextView title="Output of the push" text={pushing.data.output} />
          </Stack>
        )}
      </Stack>
    </Section>
  )
}
