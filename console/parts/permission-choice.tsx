import { Checkbox, Stack, Text } from "@mantine/core"
import { PERMISSION_DESCRIPTIONS, permissionDenialReason } from "../api/permissions.ts"
import { useOperation } from "../api/operations.ts"
import { useMe } from "../api/session.ts"

/** Every permission there is, as the server has them. */
export function usePermissions(): readonly string[] {
  return useOperation("person-change")?.input.properties?.["permissions"]?.items?.enum ?? []
}

interface PermissionChoiceProps {
  readonly chosen: readonly string[]
  /** Those that they hold just now: they can be taken whoever looks. */
  readonly held: readonly string[]
  /** Those that come with the role. */
  readonly ofRole: readonly string[]
  readonly onChoose: (chosen: readonly string[]) => void
}

/** Chooses permissions, with what each allows; what the reader may not give says why. */
export function PermissionChoice({ chosen, held, ofRole, onChoose }: PermissionChoiceProps) {
  const me = useMe()
  const all = usePermissions()
  return (
    <Stack gap="xs">
      {all.map((name) => {
        const bar = held.includes(name) ? null : permissionDenialReason(me, name)
        return (
          <Checkbox
            key={name}
            label={
              <>
                {name}
                {ofRole.includes(name) ? (
                  <Text span size="xs" c="dimmed">
                    {" "}
                    by the role
                  </Text>
                ) : null}
              </>
            }
            description={bar ?? PERMISSION_DESCRIPTIONS[name] ?? ""}
            disabled={bar !== null}
            checked={chosen.includes(name)}
            onChange={(event) =>
              onChoose(
                event.currentTarget.checked
                  ? [...chosen, name]
                  : chosen.filter((other) => other !== name),
              )
            }
          />
        )
      })}
    </Stack>
  )
}
