# frozen_string_literal: true

require "json"
require "set"

module Warehouse
  # Raised when more pieces are asked for than there are.
  class OutOfStock < StandardError
    attr_reader :article, :missing

    def initialize(article, missing)
      @article = article
      @missing = missing
      super("#{missing} pieces of #{article} are missing")
    end
  end

  class Inventory
    LIMITS = { "screw" => 500, "nail" => 800, "hinge" => 40 }.freeze

    def initialize(path)
      @path = path
      @stock = Hash.new(0)
      @watched = Set.new
    end

    def load
      return self unless File.exist?(@path)

      JSON.parse(File.read(@path)).each do |article, count|
        @stock[article] = Integer(count)
      end
      self
    end

    def receive(article, count)
      raise ArgumentError, "count must be positive" unless count.positive?

      @stock[article] += count
      @watched.delete(article) if @stock[article] >= LIMITS.fetch(article, 10)
    end

    # Takes pieces out, all that are wanted or none.
    def take(article, count)
      missing = count - @stock[article]
      raise OutOfStock.new(article, missing) if missing.positive?

      @stock[article] -= count
      @watched << article if @stock[article] < LIMITS.fetch(article, 10)
      @stock[article]
    end

    def to_order
      @watched.sort.map do |article|
        limit = LIMITS.fetch(article, 10)
        { article: article, count: (limit * 2) - @stock[article] }
      end
    end

    def save
      File.write(@path, JSON.pretty_generate(@stock.sort.to_h))
    end
  end
end
