terraform {
  required_version = ">= 1.7"

  required_providers {
    cloud = {
      source  = "example/cloud"
      version = "~> 4.2"
    }
  }
}

variable "region" {
  type        = string
  description = "Where everything is."
  default     = "eu-central"
}

variable "zones" {
  type    = list(string)
  default = ["a", "b", "c"]
}

locals {
  name = "orders-${var.region}"
  tags = {
    team    = "orders"
    managed = "terraform"
  }
}

resource "cloud_network" "main" {
  name  = local.name
  range = "10.20.0.0/16"
  tags  = local.tags
}

resource "cloud_subnet" "private" {
  for_each = toset(var.zones)

  network = cloud_network.main.id
  zone    = "${var.region}${each.key}"
  range   = cidrsubnet(cloud_network.main.range, 8, index(var.zones, each.key))
  tags    = merge(local.tags, { tier = "private" })
}

# Only the balancer may be reached from outside.
resource "cloud_firewall" "edge" {
  network = cloud_network.main.id

  rule {
    direction = "in"
    protocol  = "tcp"
    ports     = [80, 443]
    source    = ["0.0.0.0/0"]
  }

  rule {
    direction = "in"
    protocol  = "tcp"
    ports     = [22]
    source    = ["10.20.0.0/16"]
  }
}

output "network_id" {
  value       = cloud_network.main.id
  description = "For the modules that put machines into it."
}
