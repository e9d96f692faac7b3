import { AppShell, Burger, Group, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Outlet, useLocation, useRouter } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { AccountMenu } from "./account.tsx";
import { ArrivalContext, createArrival } from "./arrival.ts";
import { Navigation } from "./navigation.tsx";
import { SchemeToggle } from "./scheme-toggle.tsx";
import { useSearchKey } from "./use-search-key.ts";
import { useWatch } from "./use-watch.ts";

/** The frame of every page: the product's name, the navigation, the logged-in account. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure();
  const { pathname } = useLocation();
  const router = useRouter();
  const [arrival] = useState(createArrival);
  useWatch();
  useSearchKey();
  useEffect(
    () =>
      router.subscribe("onBeforeNavigate", ({ fromLocation, pathChanged }) => {
        if (fromLocation !== undefined && pathChanged) arrival.depart();
      }),
    [router, arrival],
  );
  useEffect(close, [pathname, close]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
      padding={{ base: "md", sm: "xl" }}
    >
      <a href="#main" className="skip-link">
        Skip to the content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? "Close the navigation" : "Open the navigation"}
            />
            <Text fw={700} size="lg">
              Patchbay
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <SchemeToggle />
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Main">
        <Navigation />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <ArrivalContext value={arrival}>
          <Outlet />
        </ArrivalContext>
      </AppShell.Main>
    </AppShell>
  );
}
